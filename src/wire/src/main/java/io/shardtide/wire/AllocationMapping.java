package io.shardtide.wire;

import io.shardtide.avro.CurveReference;
import io.shardtide.models.AvroMapping;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.RingPrediction;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.mapstruct.InheritInverseConfiguration;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

/** Allocations of pools. */
@Mapper(config = AvroMapping.class)
interface AllocationMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  AllocationMapping INSTANCE = new AllocationMappingImpl();

  @Mapping(target = "curves", source = "curveIds")
  io.shardtide.avro.Allocation toAvro(Allocation allocation);

  @InheritInverseConfiguration
  Allocation fromAvro(io.shardtide.avro.Allocation avro);

  io.shardtide.avro.RingPrediction toAvro(RingPrediction ring);

  RingPrediction fromAvro(io.shardtide.avro.RingPrediction ring);

  default List<CurveReference> curves(SortedMap<String, String> ids) {
    return ids.entrySet().stream()
        .map(curve -> new CurveReference(curve.getKey(), curve.getValue()))
        .toList();
  }

  default SortedMap<String, String> curveIds(List<CurveReference> curves) {
    SortedMap<String, String> ids = new TreeMap<>();
    curves.forEach(curve -> ids.put(curve.getWorkloadId(), curve.getCurveId()));
    return ids;
  }
}
