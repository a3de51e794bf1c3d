package io.shardtide.domain;

/**
 * What one training step was measured to cost a device: the measured side of {@link DeviceCost}.
 *
 * @param computeMs embedding computation, forward and backward, in milliseconds
 * @param forwardCommMs forward all-to-all in milliseconds, waiting for slower devices included
 * @param backwardCommMs backward all-to-all in milliseconds
 */
public record MeasuredDevice(double computeMs, double forwardCommMs, double backwardCommMs) {
  /** No part of a step takes ten minutes: whoever says so has a clock that jumped. */
  public static final double MAX_MS = 600_000;

  /**
   * Returns when the device begins its forward exchange, in milliseconds from any origin: after its
   * computation and its backward exchange.
   */
  public double startMs() {
    return computeMs + backwardCommMs;
  }

  /** Throws if a cost is outside its legal range. */
  void check(int device) {
    check(device, "computation", computeMs);
    check(device, "forward communication", forwardCommMs);
    check(device, "backward communication", backwardCommMs);
  }

  private static void check(int device, String what, double ms) {
    if (!(ms >= 0 && ms <= MAX_MS)) {
      throw new RejectedException(
          RejectionReason.INVALID_MEASUREMENT,
          "Device %d measured a %s of %s ms; legal are 0 to %.0f ms"
              .formatted(device, what, ms, MAX_MS));
    }
  }
}
