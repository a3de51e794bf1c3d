package io.shardtide.option;

import io.shardtide.workload.ReuseHistogram;

/** How often rows of a {@link ReuseHistogram} are used: the middle of each of its intervals. */
final class ReuseUses {
  private ReuseUses() {}

  /** Returns the mean uses of a touched row in the histogram's batch. */
  static double mean(ReuseHistogram reuse) {
    double uses = 0;
    for (int k = 0; k < ReuseHistogram.SIZE; k++) {
      uses += reuse.shares().get(k) * middle(k);
    }
    return uses;
  }

  /** Returns the middle of interval {@code k}, {@code (2^(k-1), 2^k]} uses. */
  static double middle(int k) {
    return k == 0 ? 1 : 0.75 * (1 << k);
  }
}
