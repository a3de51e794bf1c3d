package io.shardtide.wire;

import io.shardtide.domain.WorkloadState;
import java.util.Optional;

final class WorkloadStateMapping {
  private WorkloadStateMapping() {}

  static io.shardtide.avro.WorkloadHeader toAvro(WorkloadState state) {
    return new io.shardtide.avro.WorkloadHeader(
        state.generation(),
        state.cluster().map(SpecMapping::toAvro).orElse(null),
        state.modelId().orElse(null),
        state
            .lastEvent()
            .map(
                event ->
                    new io.shardtide.avro.AppliedEvent(
                        event.eventId(), SpecMapping.toAvro(event.source())))
            .orElse(null));
  }

  static WorkloadState fromAvro(io.shardtide.avro.WorkloadHeader avro) {
    return new WorkloadState(
        avro.getGeneration(),
        Optional.ofNullable(avro.getCluster()).map(SpecMapping::fromAvro),
        Optional.ofNullable(avro.getModelId()),
        Optional.ofNullable(avro.getLastEvent())
            .map(
                event ->
                    new WorkloadState.AppliedEvent(
                        event.getEventId(), SpecMapping.fromAvro(event.getSource()))));
  }
}
