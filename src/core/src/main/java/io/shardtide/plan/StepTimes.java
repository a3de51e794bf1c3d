package io.shardtide.plan;

import java.util.List;

/**
 * What a step takes on a device, in milliseconds. After its computation and its backward
 * communication, a device waits until the last one is ready for the forward communication.
 */
public interface StepTimes {
  /** Returns the embedding computation, forward and backward. */
  double computeMs();

  /** Returns the forward communication, idle time included. */
  double forwardCommMs();

  /** Returns the backward communication. */
  double backwardCommMs();

  /** Returns when the device is ready for the forward communication, from any origin. */
  default double startMs() {
    return computeMs() + backwardCommMs();
  }

  /** Returns when the last of some devices is ready; 0 without devices. */
  static double lastStartMs(List<? extends StepTimes> devices) {
    return devices.stream().mapToDouble(StepTimes::startMs).max().orElse(0);
  }

  /** Returns how long the device waits for the last one. */
  default double idleMs(double lastStartMs) {
    return lastStartMs - startMs();
  }

  /** Returns the forward communication without idle time. */
  default double transferMs(double lastStartMs) {
    return forwardCommMs() - idleMs(lastStartMs);
  }
}
