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
  private static final int MAX_TABLES = 1 << 12;

  private final CostEvaluator evaluator;
  private final DeviceGroup group;
  private final double forwardBytesPerUnit;
  private final double backwardBytesPerUnit;
  private final Map<Long, CostTable> tables = new HashMap<>();
  private CostTable latest;

  /** Costs at one load of all together and one level of the largest node. */
  private static final class CostTable {
    private final long key;

    /** By largest load, and load. */
    private double[][] forward = {};

    private double[][] backward = {};

    CostTable(long key) {
      this.key = key;
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
    latest = new CostTable(-1);
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
    long key = ((long) totalUnits << Integer.SIZE) | nodeLevel;
    if (latest.key != key) {
      if (tables.size() >= MAX_TABLES) {
        tables.clear();
      }
      latest = tables.computeIfAbsent(key, CostTable::new);
    }
    return latest;
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
    double mean = (double) (table.key >> Integer.SIZE) / group.devices();
    int nodeLevel = (int) table.key;
    row[units] =
        evaluator.allToAllMs(
            direction,
            units * bytes,
            new AllToAllLoad(group, maxUnits * bytes, mean * bytes, nodeLevel));
    return row[units];
  }
}
