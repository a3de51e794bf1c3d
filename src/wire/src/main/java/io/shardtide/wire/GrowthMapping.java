package io.shardtide.wire;

import io.shardtide.growth.FillHistory;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.GrowthInputs;
import io.shardtide.growth.GrowthState;
import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.Range;
import io.shardtide.growth.TableForecasts;
import io.shardtide.growth.TableGrowth;
import io.shardtide.growth.TableInputs;
import io.shardtide.models.AvroMapping;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

/** Reports of how full hashed tables are, forecasts, and what is kept of them. */
@Mapper(config = AvroMapping.class, uses = SpecMapping.class)
interface GrowthMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  GrowthMapping INSTANCE = new GrowthMappingImpl();

  io.shardtide.avro.FillReport toAvro(FillReport report);

  FillReport fromAvro(io.shardtide.avro.FillReport avro);

  io.shardtide.avro.TableForecasts toAvro(TableForecasts forecasts);

  TableForecasts fromAvro(io.shardtide.avro.TableForecasts avro);

  /** A time that is not forecast is null in the record, and infinite in the value. */
  default io.shardtide.avro.DayRange days(Range days) {
    return days == null
        ? null
        : new io.shardtide.avro.DayRange(
            days.low(), finiteOrNull(days.median()), finiteOrNull(days.high()));
  }

  default Range days(io.shardtide.avro.DayRange avro) {
    return avro == null
        ? null
        : new Range(avro.getEarliest(), orInfinite(avro.getMedian()), orInfinite(avro.getLatest()));
  }

  private static Double finiteOrNull(double days) {
    return days == Double.POSITIVE_INFINITY ? null : (Double) days;
  }

  private static double orInfinite(Double days) {
    return days == null ? Double.POSITIVE_INFINITY : days;
  }

  io.shardtide.avro.GrowthHeader toAvro(GrowthState state);

  GrowthState fromAvro(io.shardtide.avro.GrowthHeader avro);

  io.shardtide.avro.TableGrowth toAvro(TableGrowth growth);

  TableGrowth fromAvro(io.shardtide.avro.TableGrowth avro);

  @Mapping(target = "with", ignore = true)
  FillHistory fromAvro(io.shardtide.avro.FillHistory avro);

  io.shardtide.avro.MemoryEnd toAvro(MemoryEnd end);

  MemoryEnd fromAvro(io.shardtide.avro.MemoryEnd avro);

  io.shardtide.avro.TableInputs toAvro(TableInputs inputs);

  TableInputs fromAvro(io.shardtide.avro.TableInputs avro);

  io.shardtide.avro.GrowthInputs toAvro(GrowthInputs inputs);

  GrowthInputs fromAvro(io.shardtide.avro.GrowthInputs avro);
}
