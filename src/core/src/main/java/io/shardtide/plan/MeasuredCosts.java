package io.shardtide.plan;

import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.ShardScope;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

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
 * @param collectives durations of the step's collectives, each at most once; empty if they were not
 *     measured apart. Otherwise the communication of each device is their sum, forward with idle
 *     time
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
    List<MeasuredCollective> collectives,
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
    Names.check(source, "source", RejectionReason.INVALID_MEASUREMENT);
    devices = List.copyOf(devices);
    collectives = List.copyOf(collectives);
    if (step < 0 || steps < 1) {
      throw RejectionReason.INVALID_MEASUREMENT.failure(
          "a measurement must be of at least 1 step, up to a step of at least 0, got %s steps up to step %s"
              .formatted(steps, step));
    }
    if (devices.isEmpty()) {
      throw RejectionReason.INVALID_MEASUREMENT.failure(
          "a measurement must have one entry for each device of the plan, got none");
    }
    for (int d = 0; d < devices.size(); d++) {
      devices.get(d).check(d);
    }
    checkCollectives(devices, collectives);
  }

  private static void checkCollectives(
      List<MeasuredDevice> devices, List<MeasuredCollective> collectives) {
    for (int i = 0; i < collectives.size(); i++) {
      MeasuredCollective collective = collectives.get(i);
      if (collective.ms().size() != devices.size()) {
        throw RejectionReason.INVALID_MEASUREMENT.failure(
            "%s must have one duration for each of %s devices, got %s"
                .formatted(collective.shown(), devices.size(), collective.ms().size()));
      }
      if (collectives.subList(0, i).stream().anyMatch(collective::isSameAs)) {
        throw RejectionReason.INVALID_MEASUREMENT.failure(
            "%s must be reported once, got it twice".formatted(collective.shown()));
      }
    }
    for (int d = 0; d < devices.size() && !collectives.isEmpty(); d++) {
      double forward = sumMs(collectives, Direction.FORWARD, d);
      if (!(devices.get(d).forwardCommMs() >= forward - toleranceMs(forward))) {
        throw RejectionReason.INVALID_MEASUREMENT.failure(
            "forward communication of device %s must be at least the sum of its forward collectives, %s ms, got %s ms"
                .formatted(d, forward, devices.get(d).forwardCommMs()));
      }
      double backward = sumMs(collectives, Direction.BACKWARD, d);
      if (!(Math.abs(devices.get(d).backwardCommMs() - backward) <= toleranceMs(backward))) {
        throw RejectionReason.INVALID_MEASUREMENT.failure(
            "backward communication of device %s must be the sum of its backward collectives, %s ms, got %s ms"
                .formatted(d, backward, devices.get(d).backwardCommMs()));
      }
    }
  }

  private static double sumMs(
      List<MeasuredCollective> collectives, Direction direction, int device) {
    return collectives.stream()
        .filter(c -> c.direction() == direction)
        .mapToDouble(c -> c.ms().get(device))
        .sum();
  }

  /** Returns how far a sum may be off: a median of sums is not the sum of the medians. */
  private static double toleranceMs(double sumMs) {
    return sumMs / 100 + 0.01;
  }

  /** Returns the durations of a collective by device number, if they were measured apart. */
  public Optional<List<Double>> collectiveMs(
      ShardScope scope, Collective collective, Direction direction) {
    return collectives.stream()
        .filter(
            c -> c.scope() == scope && c.collective() == collective && c.direction() == direction)
        .map(MeasuredCollective::ms)
        .findFirst();
  }
}
