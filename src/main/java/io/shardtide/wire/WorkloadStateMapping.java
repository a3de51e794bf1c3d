package io.shardtide.wire;

import java.util.Optional;

final class WorkloadStateMapping {
  private WorkloadStateMapping() {}

  static io.shardtide.avro.WorkloadState toAvro(WorkloadState state) {
    return new io.shardtide.avro.WorkloadState(
        state.generation(),
        state.cluster().map(SpecMapping::toAvro).orElse(null),
        state.modelId().orElse(null));
  }

  static WorkloadState fromAvro(io.shardtide.avro.WorkloadState avro) {
    return new WorkloadState(
        avro.getGeneration(),
        Optional.ofNullable(avro.getCluster()).map(SpecMapping::fromAvro),
        Optional.ofNullable(avro.getModelId()));
  }
}
