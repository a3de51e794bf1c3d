package io.shardtide.views;

import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.MeasuredDevice;
import java.time.Instant;

/**
 * A measured step.
 *
 * @param measuredAt when
 * @param planId the plan that ran
 * @param step the last of the steps that were measured
 * @param stepMs what a step cost, in milliseconds: the slowest device's computation and exchanges
 */
public record MeasuredStep(Instant measuredAt, String planId, long step, double stepMs) {
  static MeasuredStep of(MeasuredCosts costs) {
    double slowest = 0;
    for (MeasuredDevice device : costs.devices()) {
      slowest = Math.max(slowest, device.startMs() + device.forwardCommMs());
    }
    return new MeasuredStep(costs.measuredAt(), costs.planId(), costs.step(), slowest);
  }
}
