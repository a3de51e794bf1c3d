package io.shardtide.plan;

/**
 * Predicted cost of one training step on a device.
 *
 * @param computeMs embedding computation, forward and backward, in milliseconds
 * @param forwardCommMs forward communication in milliseconds, idle time included
 * @param backwardCommMs backward communication in milliseconds
 * @param memoryBytes bytes of device memory that its shards need
 * @param hostMemoryBytes bytes of host memory that its cached shards need
 */
public record DeviceCost(
    double computeMs,
    double forwardCommMs,
    double backwardCommMs,
    long memoryBytes,
    long hostMemoryBytes)
    implements StepTimes {

  /** Returns this cost with other times. */
  public DeviceCost withMs(double computeMs, double forwardCommMs, double backwardCommMs) {
    return new DeviceCost(computeMs, forwardCommMs, backwardCommMs, memoryBytes, hostMemoryBytes);
  }

  /** Returns the sum of computation and both communications, in milliseconds. */
  public double totalMs() {
    return computeMs + backwardCommMs + forwardCommMs;
  }
}
