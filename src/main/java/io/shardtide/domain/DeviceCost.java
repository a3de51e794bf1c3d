package io.shardtide.domain;

/**
 * What one training step is predicted to cost a device.
 *
 * @param computeMs embedding computation, forward and backward, in milliseconds
 * @param forwardCommMs forward all-to-all in milliseconds, waiting for slower devices included
 * @param backwardCommMs backward all-to-all in milliseconds
 * @param memoryBytes bytes that the device's shards fill
 */
public record DeviceCost(
    double computeMs, double forwardCommMs, double backwardCommMs, long memoryBytes) {

  /** Returns computation and both communications together, in milliseconds. */
  public double totalMs() {
    return computeMs + backwardCommMs + forwardCommMs;
  }
}
