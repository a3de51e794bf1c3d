package io.shardtide.domain;

import java.util.Locale;
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
    check(device, "computation", computeMs);
    check(device, "forward communication", forwardCommMs);
    check(device, "backward communication", backwardCommMs);
    if (forwardComputeMs.isPresent()
        && !(forwardComputeMs.getAsDouble() > 0 && forwardComputeMs.getAsDouble() < computeMs)) {
      throw new RejectedException(
          RejectionReason.INVALID_MEASUREMENT,
          "forward computation of device %s must be above 0 and below its computation of %s ms, got %s ms"
              .formatted(device, computeMs, forwardComputeMs.getAsDouble()));
    }
  }

  private static void check(int device, String what, double ms) {
    if (!(ms >= 0 && ms <= MAX_MS)) {
      throw new RejectedException(
          RejectionReason.INVALID_MEASUREMENT,
          String.format(
              Locale.ROOT,
              "%s of device %d must be between 0 and %.0f ms, got %s ms",
              what,
              device,
              MAX_MS,
              ms));
    }
  }
}
