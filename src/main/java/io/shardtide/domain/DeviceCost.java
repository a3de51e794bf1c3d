package io.shardtide.domain;

/**
 * Predicted cost of one training step on a device.
 *
 * @param computeMs embedding computation, forward and backward, in milliseconds
 * @param forwardCommMs forward communication in milliseconds, idle time included
 * @param backwardCommMs backward communication in milliseconds
 * @param memoryBytes bytes of the device's shards
 */
public record DeviceCost(
    double computeMs, double forwardCommMs, double backwardCommMs, long memoryBytes) {

  /** Returns the sum of computation and both communications, in milliseconds. */
  public double totalMs() {
    return computeMs + backwardCommMs + forwardCommMs;
  }
}
