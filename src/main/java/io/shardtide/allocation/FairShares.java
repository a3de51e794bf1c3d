package io.shardtide.allocation;

import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Fair shares of a pool: each workload has the same number of nodes for each unit of its weight,
 * except where it needs more or can use less. Weighted dominant-resource fairness (Ghodsi et al.,
 * 2011) with limits; nodes are the only resource, and dominate.
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
   * @param weight weight of a demand, above 0
   */
  static double[] of(List<Demand> demands, int nodes, ToDoubleFunction<Demand> weight) {
    double low = 0;
    double high = 0;
    for (Demand demand : demands) {
      high = Math.max(high, demand.mostNodes() / weight.applyAsDouble(demand));
    }
    if (sum(shares(demands, high, weight)) <= nodes) {
      return shares(demands, high, weight);
    }
    for (int i = 0; i < HALVINGS; i++) {
      double middle = low + (high - low) / 2;
      if (middle <= low || middle >= high) {
        break;
      }
      if (sum(shares(demands, middle, weight)) <= nodes) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return shares(demands, low, weight);
  }

  private static double[] shares(
      List<Demand> demands, double level, ToDoubleFunction<Demand> weight) {
    return demands.stream()
        .mapToDouble(
            d -> Math.max(d.leastNodes(), Math.min(d.mostNodes(), level * weight.applyAsDouble(d))))
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
