package io.shardtide.domain;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.List;
import java.util.Objects;

/**
 * What training steps cost the devices of a workload, measured by its trainer while it ran a plan.
 *
 * @param measurementId identity of this report; one that is repeated counts once
 * @param workloadId the workload
 * @param planId the plan that ran
 * @param run which run of the trainer reports; steps count within a run
 * @param step the last of the steps that were measured, from 0
 * @param steps how many steps the costs are taken from, at least 1: a median, say
 * @param devices one per device, in the order of their numbers
 * @param source who reports
 * @param measuredAt when it was measured; shown to people, nothing depends on it
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
   * @throws RejectedException if a value is outside its legal range
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
          "The measurement is of %d steps up to step %d; legal are 1 step and more, up to step 0 and more"
              .formatted(steps, step));
    }
    if (devices.isEmpty()) {
      throw new RejectedException(
          RejectionReason.INVALID_MEASUREMENT,
          "The measurement is of no device; legal is one entry for each device of the plan");
    }
    for (int d = 0; d < devices.size(); d++) {
      devices.get(d).check(d);
    }
  }
}
