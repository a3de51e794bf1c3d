package io.shardtide.domain;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.List;
import java.util.Objects;

/**
 * Costs of training steps on the devices of a workload, measured by its trainer.
 *
 * @param measurementId identity of this report; a repeated one counts once
 * @param workloadId the workload
 * @param planId the plan that ran
 * @param run the trainer's run; steps count within a run
 * @param step the last of the steps that were measured, from 0
 * @param steps number of steps that the costs summarise, by their median, say; at least 1
 * @param devices one per device, in the order of their numbers
 * @param source name of the trainer
 * @param measuredAt when it was measured; informative
 */
@RecordBuilder
public record MeasuredCosts(
    String measurementId,
    String workloadId,
    String planId,
    String run,
    long step,
    int steps,
    List<MeasuredDevice> devices,
    String source,
    Instant measuredAt) {

  /**
   * Copies what may change.
   *
   * @throws RejectedException if a value is outside its range
   */
  public MeasuredCosts {
    Names.check(workloadId, "workload id", RejectionReason.INVALID_WORKLOAD_ID);
    Names.check(measurementId, "measurement id", RejectionReason.INVALID_MEASUREMENT);
    Objects.requireNonNull(planId, "planId");
    Objects.requireNonNull(run, "run");
    Objects.requireNonNull(measuredAt, "measuredAt");
    Names.check(source, "source", RejectionReason.INVALID_MEASUREMENT);
    devices = List.copyOf(devices);
    if (step < 0 || steps < 1) {
      throw new RejectedException(
          RejectionReason.INVALID_MEASUREMENT,
          "a measurement must be of at least 1 step, up to a step of at least 0, got %d steps up to step %d"
              .formatted(steps, step));
    }
    if (devices.isEmpty()) {
      throw new RejectedException(
          RejectionReason.INVALID_MEASUREMENT,
          "a measurement must have one entry for each device of the plan, got none");
    }
    for (int d = 0; d < devices.size(); d++) {
      devices.get(d).check(d);
    }
  }
}
