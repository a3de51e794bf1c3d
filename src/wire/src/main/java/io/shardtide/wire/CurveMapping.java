package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.CurveState;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolMember;
import io.shardtide.pool.ThroughputCurve;
import java.util.Optional;
import java.util.TreeMap;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

/** Throughput curves, and what is kept of them. */
@Mapper(config = AvroMapping.class, uses = SpecMapping.class)
interface CurveMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  CurveMapping INSTANCE = new CurveMappingImpl();

  @Mapping(target = ".", source = "type")
  io.shardtide.avro.CurveRequest toAvro(CurveRequest request);

  @Mapping(target = "type", source = "avro")
  CurveRequest fromAvro(io.shardtide.avro.CurveRequest avro);

  default Pool type(io.shardtide.avro.CurveRequest avro) {
    return new Pool(
        avro.getDevicesPerNode(),
        avro.getMemoryBytesPerDevice(),
        avro.getHostMemoryBytesPerDevice(),
        avro.getHardware(),
        new TreeMap<>(),
        Optional.empty());
  }

  @Mapping(target = "predicted", source = "curve")
  io.shardtide.avro.CurveReport toAvro(CurveReport report);

  io.shardtide.avro.PredictedCurve toAvro(ThroughputCurve curve);

  @Mapping(target = "curve", source = "avro")
  CurveReport fromAvro(io.shardtide.avro.CurveReport avro);

  default Optional<ThroughputCurve> curve(io.shardtide.avro.CurveReport avro) {
    return Optional.ofNullable(avro.getPredicted())
        .map(predicted -> curve(predicted, avro.getWorkloadId()));
  }

  ThroughputCurve curve(io.shardtide.avro.PredictedCurve predicted, String workloadId);

  io.shardtide.avro.PoolMember toAvro(PoolMember member);

  @Mapping(target = "request", source = "request")
  @Mapping(target = "report", source = "report")
  @Mapping(target = "sent", source = "sent")
  @Mapping(target = "with", ignore = true)
  PoolMember fromAvro(io.shardtide.avro.PoolMember avro);

  io.shardtide.avro.CurveHeader toAvro(CurveState header);

  @Mapping(target = "with", ignore = true)
  CurveState fromAvro(io.shardtide.avro.CurveHeader avro);
}
