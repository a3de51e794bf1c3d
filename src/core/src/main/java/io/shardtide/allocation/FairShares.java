package io.shardtide.allocation;

import java.util.List;

/**
 * Fair shares of a pool: each workload has the same number of nodes, except where it needs more or
 * can use less. Dominant-resource fairness (Ghodsi et al., 2011) with limits; nodes are the only
 * resource, and dominate.
 */
final class FairShares {
  /** Halvings of an interval of doubles until it has no value in between. */
  private static final int HALVINGS = 1_100;

  private FairShares() {}

  /**
   * Returns the shares in nodes, not rounded.
   *
   * @param demands demands whose least nodes together are at most {@code nodes}
   * @param nodes number of nodes
   */
  static double[] of(List<Demand> demands, int nodes) {
    double low = 0;
    double high = demands.stream().mapToInt(Demand::mostNodes).max().orElse(0);
    if (sum(shares(demands, high)) <= nodes) {
      return shares(demands, high);
    }
    for (int i = 0; i < HALVINGS; i++) {
      double middle = low + (high - low) / 2;
      if (middle <= low || middle >= high) {
        break;
      }
      if (sum(shares(demands, middle)) <= nodes) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return shares(demands, low);
  }

  private static double[] shares(List<Demand> demands, double level) {
    return demands.stream()
        .mapToDouble(d -> Math.max(d.leastNodes(), Math.min(d.mostNodes(), level)))
        .toArray();
  }

  private static double sum(double[] shares) {
    double sum = 0;
    for (double share : shares) {
      sum += share;
    }
    return sum;
  }
}
