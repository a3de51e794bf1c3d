package io.shardtide.pool;

/**
 * Predicted bandwidth of a ring all-reduce between the nodes of a workload, in 10^9 bytes a second.
 * A ring of n nodes takes 2 (n - 1) / n times its bytes, divided by this, besides latencies.
 *
 * @param gigabytesPerSecond in the order of the workload's nodes
 * @param byNameGigabytesPerSecond in the order of their names
 * @param mostGigabytesPerSecond no order has more
 * @param slowestPairGigabytesPerSecond bandwidth between the two nodes that have the least,
 *     neighbours or not: all-to-all communication uses all pairs
 */
public record RingPrediction(
    double gigabytesPerSecond,
    double byNameGigabytesPerSecond,
    double mostGigabytesPerSecond,
    double slowestPairGigabytesPerSecond) {
  /** Returns how many times as fast the ring is as in the order of names. */
  public double gain() {
    return gigabytesPerSecond / byNameGigabytesPerSecond;
  }
}
