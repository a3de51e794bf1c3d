package io.shardtide.search.local;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Direction;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The all-to-all costs of a device, cached. The load of all devices together is the same for every
 * assignment of a search, so that the cost is a function of the device's own load, of the largest
 * load of any device, and of the largest load of any node. Loads are in units, and those of nodes
 * in levels, which keeps the cache flat arrays.
 */
final class AllToAllCosts {
  private static final double UNKNOWN = -1;

  private final CostEvaluator evaluator;
  private final DeviceGroup group;
  private final double forwardBytesPerUnit;
  private final double backwardBytesPerUnit;
  private final int totalUnits;

  /** By level of the largest node, largest load, and load. */
  private final Map<Integer, double[][]> forward = new HashMap<>();

  private final Map<Integer, double[][]> backward = new HashMap<>();

  /**
   * @param evaluator predicts
   * @param cluster the devices
   * @param elementsPerUnit numbers that a unit of load stands for
   * @param totalUnits load of all devices together
   */
  AllToAllCosts(
      CostEvaluator evaluator, ClusterSpec cluster, double elementsPerUnit, int totalUnits) {
    this.evaluator = evaluator;
    this.totalUnits = totalUnits;
    group = DeviceGroup.of(cluster);
    double toPeer = elementsPerUnit / cluster.devices();
    forwardBytesPerUnit = toPeer * cluster.forwardBytesPerElement();
    backwardBytesPerUnit = toPeer * cluster.backwardBytesPerElement();
  }

  /** Returns the load of all devices together. */
  int totalUnits() {
    return totalUnits;
  }

  /** Returns the mean load of a device. */
  double meanUnits() {
    return (double) totalUnits / group.devices();
  }

  /** Returns the devices. */
  DeviceGroup group() {
    return group;
  }

  /**
   * Returns the forward all-to-all in milliseconds, idle time not included.
   *
   * @param nodeLevel level of the node with the largest load, {@link AllToAllLoad#nodeLevel}
   */
  double forwardMs(int units, int maxUnits, int nodeLevel) {
    return ms(forward, Direction.FORWARD, units, maxUnits, nodeLevel);
  }

  /** Returns the backward all-to-all in milliseconds; see {@link #forwardMs}. */
  double backwardMs(int units, int maxUnits, int nodeLevel) {
    return ms(backward, Direction.BACKWARD, units, maxUnits, nodeLevel);
  }

  private double ms(
      Map<Integer, double[][]> known, Direction direction, int units, int maxUnits, int nodeLevel) {
    if (group.devices() == 1 || maxUnits == 0) {
      return 0;
    }
    double[][] ofLevel =
        known.computeIfAbsent(nodeLevel, level -> new double[Math.max(totalUnits, 1) + 1][]);
    double[] row = ofLevel[maxUnits];
    if (row == null) {
      row = new double[maxUnits + 1];
      Arrays.fill(row, UNKNOWN);
      ofLevel[maxUnits] = row;
    }
    double ms = row[units];
    if (ms == UNKNOWN) {
      double bytes = direction == Direction.FORWARD ? forwardBytesPerUnit : backwardBytesPerUnit;
      ms =
          evaluator.allToAllMs(
              direction,
              units * bytes,
              new AllToAllLoad(group, maxUnits * bytes, meanUnits() * bytes, nodeLevel));
      row[units] = ms;
    }
    return ms;
  }
}
