package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.state.Baseline;
import io.shardtide.state.FeedbackState;
import io.shardtide.state.ResidualWindow;
import io.shardtide.workload.VersionedTable;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;
import org.mapstruct.Named;

/** What feedback keeps of a workload. */
@Mapper(
    config = AvroMapping.class,
    uses = {SpecMapping.class, PlanHistoryMapping.class, SpeedMapping.class})
interface FeedbackMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  FeedbackMapping INSTANCE = new FeedbackMappingImpl();

  io.shardtide.avro.FeedbackHeader toAvro(FeedbackState header);

  @Mapping(target = "measured", ignore = true)
  FeedbackState fromAvro(io.shardtide.avro.FeedbackHeader avro);

  @Mapping(target = "slowSince", qualifiedByName = "toMillis")
  io.shardtide.avro.ResidualWindow toAvro(ResidualWindow window);

  @Mapping(target = "forModel", ignore = true)
  @Mapping(target = "calibrated", ignore = true)
  @Mapping(target = "back", ignore = true)
  ResidualWindow fromAvro(io.shardtide.avro.ResidualWindow avro);

  io.shardtide.avro.Baseline toAvro(Baseline baseline);

  Baseline fromAvro(io.shardtide.avro.Baseline avro);

  /** Avro's setters do this for instants that are never null. */
  @Named("toMillis")
  default Instant toMillis(Optional<Instant> instant) {
    return instant.map(at -> at.truncatedTo(ChronoUnit.MILLIS)).orElse(null);
  }

  io.shardtide.avro.DatedTable toAvro(VersionedTable dated);

  VersionedTable fromAvro(io.shardtide.avro.DatedTable avro);
}
