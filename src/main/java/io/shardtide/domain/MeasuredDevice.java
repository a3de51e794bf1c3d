package io.shardtide.domain;

/**
 * Measured cost of one training step on a device; {@link DeviceCost} is the predicted one.
 *
 * @param computeMs embedding computation, forward and backward, in milliseconds
 * @param forwardCommMs forward communication in milliseconds, idle time included
 * @param backwardCommMs backward communication in milliseconds
 */
public record MeasuredDevice(double computeMs, double forwardCommMs, double backwardCommMs) {
  /** No part of a step takes ten minutes; a clock that jumped would measure more. */
  public static final double MAX_MS = 600_000;

  /**
   * Returns when the device begins its forward communication, in milliseconds from any origin:
   * after its computation and its backward communication.
   */
  public double startMs() {
    return computeMs + backwardCommMs;
  }

  /** Throws a {@link RejectedException} if a cost is outside its range. */
  void check(int device) {
    check(device, "computation", computeMs);
    check(device, "forward communication", forwardCommMs);
    check(device, "backward communication", backwardCommMs);
  }

  private static void check(int device, String what, double ms) {
    if (!(ms >= 0 && ms <= MAX_MS)) {
      throw new RejectedException(
          RejectionReason.INVALID_MEASUREMENT,
          "%s of device %d must be between 0 and %.0f ms, got %s ms"
              .formatted(what, device, MAX_MS, ms));
    }
  }
}
