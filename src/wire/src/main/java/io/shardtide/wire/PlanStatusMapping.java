package io.shardtide.wire;

import io.shardtide.avro.PlanStatusKind;
import io.shardtide.domain.AcceptedStatus;
import io.shardtide.domain.PlanStatus;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.OptionalLong;

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

  static io.shardtide.avro.AcceptedStatus toAvro(AcceptedStatus accepted) {
    return new io.shardtide.avro.AcceptedStatus(
        accepted.workloadId(),
        accepted.status().map(PlanStatusMapping::toAvro).orElse(null),
        accepted.runningPlanId().orElse(null),
        accepted.movedFromPlanId().orElse(null),
        accepted.reportedStep().isPresent() ? accepted.reportedStep().getAsLong() : null,
        accepted.reportedRun());
  }

  static AcceptedStatus fromAvro(io.shardtide.avro.AcceptedStatus avro) {
    Long step = avro.getReportedStep();
    return new AcceptedStatus(
        avro.getWorkloadId(),
        Optional.ofNullable(avro.getStatus()).map(PlanStatusMapping::fromAvro),
        Optional.ofNullable(avro.getRunningPlanId()),
        Optional.ofNullable(avro.getMovedFromPlanId()),
        step == null ? OptionalLong.empty() : OptionalLong.of(step),
        avro.getReportedRun());
  }
}
