package io.shardtide.views;

import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredDevice;
import java.time.Instant;

/**
 * A measured step.
 *
 * @param measuredAt when it was measured
 * @param planId the plan that ran
 * @param step the last measured step
 * @param stepMs cost of a step, in milliseconds: computation and all-to-alls of the slowest device
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
