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
 * The all-to-all costs of a member of a group (a device among all, or a node among nodes), cached.
 * A cost is a function of the member's own load, of the largest load of any member, of the load of
 * all together, and of the largest load of any node. Loads are in units, and those of nodes in
 * levels, which keeps the cache flat arrays. Moves of single parts leave the load of all together
 * as it is, so that nearly all costs are looked up in the arrays of the one before.
 */
final class AllToAllCosts {
  private static final double UNKNOWN = -1;

  /** More arrays are forgotten: a search has visited so many totals, and comes back to few. */
  private static final int MAX_TOTALS = 1 << 10;

  private final CostEvaluator evaluator;
  private final DeviceGroup group;
  private final double forwardBytesPerUnit;
  private final double backwardBytesPerUnit;
  private final Map<Integer, TotalTables> totals = new HashMap<>();
  private TotalTables latest = new TotalTables(-1);

  /** Costs at one load of all together, by the level of the largest node. */
  private static final class TotalTables {
    private final int totalUnits;
    private CostTable[] byLevel = {};

    TotalTables(int totalUnits) {
      this.totalUnits = totalUnits;
    }

    CostTable table(int nodeLevel) {
      if (nodeLevel >= byLevel.length) {
        byLevel = Arrays.copyOf(byLevel, 2 * nodeLevel);
      }
      if (byLevel[nodeLevel] == null) {
        byLevel[nodeLevel] = new CostTable(totalUnits, nodeLevel);
      }
      return byLevel[nodeLevel];
    }
  }

  /** Costs at one load of all together and one level of the largest node. */
  private static final class CostTable {
    private final int totalUnits;
    private final int nodeLevel;

    /** By largest load, and load. */
    private double[][] forward = {};

    private double[][] backward = {};

    CostTable(int totalUnits, int nodeLevel) {
      this.totalUnits = totalUnits;
      this.nodeLevel = nodeLevel;
    }
  }

  /**
   * @param evaluator predicts
   * @param cluster the devices
   * @param group the members
   * @param elementsPerUnit numbers that a unit of load stands for
   */
  AllToAllCosts(
      CostEvaluator evaluator, ClusterSpec cluster, DeviceGroup group, double elementsPerUnit) {
    this.evaluator = evaluator;
    this.group = group;
    double toPeer = elementsPerUnit / cluster.devices();
    forwardBytesPerUnit = toPeer * cluster.forwardBytesPerElement();
    backwardBytesPerUnit = toPeer * cluster.backwardBytesPerElement();
  }

  /** Returns the members. */
  DeviceGroup group() {
    return group;
  }

  /**
   * Returns the forward all-to-all in milliseconds, idle time not included.
   *
   * @param units load of the member
   * @param maxUnits largest load of any member
   * @param totalUnits load of all members together
   * @param nodeLevel level of the node with the largest load, {@link AllToAllLoad#nodeLevel}
   */
  double forwardMs(int units, int maxUnits, int totalUnits, int nodeLevel) {
    if (group.devices() == 1 || maxUnits == 0) {
      return 0;
    }
    CostTable table = table(totalUnits, nodeLevel);
    table.forward = withRow(table.forward, maxUnits);
    double ms = table.forward[maxUnits][units];
    return ms != UNKNOWN
        ? ms
        : compute(table.forward[maxUnits], Direction.FORWARD, units, maxUnits, table);
  }

  /** Returns the backward all-to-all in milliseconds; see {@link #forwardMs}. */
  double backwardMs(int units, int maxUnits, int totalUnits, int nodeLevel) {
    if (group.devices() == 1 || maxUnits == 0) {
      return 0;
    }
    CostTable table = table(totalUnits, nodeLevel);
    table.backward = withRow(table.backward, maxUnits);
    double ms = table.backward[maxUnits][units];
    return ms != UNKNOWN
        ? ms
        : compute(table.backward[maxUnits], Direction.BACKWARD, units, maxUnits, table);
  }

  private CostTable table(int totalUnits, int nodeLevel) {
    if (latest.totalUnits != totalUnits) {
      if (totals.size() >= MAX_TOTALS) {
        totals.clear();
      }
      latest = totals.computeIfAbsent(totalUnits, TotalTables::new);
    }
    return latest.table(nodeLevel);
  }

  private static double[][] withRow(double[][] rows, int maxUnits) {
    double[][] grown =
        maxUnits < rows.length
            ? rows
            : Arrays.copyOf(rows, Math.max(2 * rows.length, maxUnits + 1));
    if (grown[maxUnits] == null) {
      grown[maxUnits] = new double[maxUnits + 1];
      Arrays.fill(grown[maxUnits], UNKNOWN);
    }
    return grown;
  }

  private double compute(
      double[] row, Direction direction, int units, int maxUnits, CostTable table) {
    double bytes = direction == Direction.FORWARD ? forwardBytesPerUnit : backwardBytesPerUnit;
    double mean = (double) table.totalUnits / group.devices();
    row[units] =
        evaluator.allToAllMs(
            direction,
            units * bytes,
            new AllToAllLoad(group, maxUnits * bytes, mean * bytes, table.nodeLevel));
    return row[units];
  }
}
