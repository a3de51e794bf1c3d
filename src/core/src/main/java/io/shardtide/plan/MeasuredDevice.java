package io.shardtide.plan;

import io.shardtide.workload.Limits;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.OptionalDouble;

/**
 * Measured cost of one training step on a device; {@link DeviceCost} is the predicted one.
 *
 * @param computeMs embedding computation, forward and backward, in milliseconds
 * @param forwardCommMs forward communication in milliseconds, idle time included
 * @param backwardCommMs backward communication in milliseconds
 * @param forwardComputeMs the forward part of {@code computeMs} in milliseconds, above 0 and below
 *     it; empty if it was not measured apart
 */
public record MeasuredDevice(
    double computeMs, double forwardCommMs, double backwardCommMs, OptionalDouble forwardComputeMs)
    implements StepTimes {
  /** No part of a step takes ten minutes; a clock that jumped would measure more. */
  public static final double MAX_MS = 600_000;

  /** A device whose forward computation was not measured apart. */
  public MeasuredDevice(double computeMs, double forwardCommMs, double backwardCommMs) {
    this(computeMs, forwardCommMs, backwardCommMs, OptionalDouble.empty());
  }

  /** Throws a {@link RejectedException} if a cost is outside its range. */
  void check(int device) {
    Limits limits =
        Limits.of(RejectionReason.INVALID_MEASUREMENT, "device " + device)
            .in(" ms")
            .within("computation", computeMs, 0, MAX_MS)
            .within("forward communication", forwardCommMs, 0, MAX_MS)
            .within("backward communication", backwardCommMs, 0, MAX_MS);
    double forwardMs = forwardComputeMs.orElse(computeMs / 2);
    if (forwardComputeMs.isPresent() && !(forwardMs > 0 && forwardMs < computeMs)) {
      throw limits.failure(
          "forward computation", "above 0 and below its computation of " + computeMs, forwardMs);
    }
  }
}
