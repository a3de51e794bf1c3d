package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.domain.ClusterSpec;
import java.util.Arrays;

/**
 * The all-to-all costs of a device, cached. The load of all devices together is the same for every
 * assignment of a search, so that the cost is a function of the device's own load and of the
 * largest load of any device. Loads are in units, which keeps the cache a flat array.
 */
final class AllToAllCosts {
  private static final double UNKNOWN = -1;

  private final CostEvaluator evaluator;
  private final ClusterSpec cluster;
  private final double elementsPerUnit;
  private final int totalUnits;
  private final double[][] forward;
  private final double[][] backward;

  /**
   * @param evaluator predicts
   * @param cluster the devices
   * @param elementsPerUnit numbers that a unit of load stands for
   * @param totalUnits load of all devices together
   */
  AllToAllCosts(
      CostEvaluator evaluator, ClusterSpec cluster, double elementsPerUnit, int totalUnits) {
    this.evaluator = evaluator;
    this.cluster = cluster;
    this.elementsPerUnit = elementsPerUnit;
    this.totalUnits = totalUnits;
    int loads = Math.max(totalUnits, 1) + 1;
    forward = new double[loads][];
    backward = new double[loads][];
  }

  /** Returns the load of all devices together. */
  int totalUnits() {
    return totalUnits;
  }

  /** Returns the forward all-to-all in milliseconds, idle time not included. */
  double forwardMs(int units, int maxUnits) {
    return ms(forward, units, maxUnits, true);
  }

  /** Returns the backward all-to-all in milliseconds. */
  double backwardMs(int units, int maxUnits) {
    return ms(backward, units, maxUnits, false);
  }

  private double ms(double[][] known, int units, int maxUnits, boolean isForward) {
    if (cluster.devices() == 1 || maxUnits == 0) {
      return 0;
    }
    double[] row = known[maxUnits];
    if (row == null) {
      row = new double[maxUnits + 1];
      Arrays.fill(row, UNKNOWN);
      known[maxUnits] = row;
    }
    double ms = row[units];
    if (ms == UNKNOWN) {
      double own = units * elementsPerUnit;
      double max = maxUnits * elementsPerUnit;
      double total = totalUnits * elementsPerUnit;
      ms =
          isForward
              ? evaluator.forwardMs(own, max, total, cluster.devices())
              : evaluator.backwardMs(own, max, total, cluster.devices());
      row[units] = ms;
    }
    return ms;
  }
}
