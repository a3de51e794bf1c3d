package io.shardtide.wire;

import io.shardtide.avro.PlanStatusKind;
import io.shardtide.domain.PlanStatus;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

final class PlanStatusMapping {
  private PlanStatusMapping() {}

  static io.shardtide.avro.PlanStatus toAvro(PlanStatus status) {
    return new io.shardtide.avro.PlanStatus(
        status.workloadId(),
        status.planId(),
        PlanStatusKind.valueOf(status.kind().name()),
        status.step(),
        status.reason().orElse(null),
        status.source(),
        status.run(),
        status.occurredAt().truncatedTo(ChronoUnit.MILLIS),
        status.wave(),
        status.waves());
  }

  static PlanStatus fromAvro(io.shardtide.avro.PlanStatus avro) {
    return new PlanStatus(
        avro.getWorkloadId(),
        avro.getPlanId(),
        PlanStatus.StatusKind.valueOf(avro.getStatus().name()),
        avro.getStep(),
        Optional.ofNullable(avro.getReason()),
        avro.getSource(),
        avro.getRun(),
        avro.getOccurredAt(),
        avro.getWave(),
        avro.getWaves());
  }
}
