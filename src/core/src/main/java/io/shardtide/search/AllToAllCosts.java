package io.shardtide.search;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.StepCollective;
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

  /**
   * More of a collective, with all its codecs, are forgotten: a search has visited so many totals,
   * and comes back to few. 32 MiB of costs; with those of up to 1,024 totals, 2,000 tables on 16
   * devices filled a heap of 2 GiB.
   */
  private static final long MAX_COSTS = 1 << 22;

  private final CostEvaluator evaluator;
  private final StepCollective collective;
  private final double elementsPerUnit;
  private final double bytesPerUnit;
  private final DeviceGroup members;
  private final long maxCosts;

  /** By load of all together: by level of the largest node, by largest load. */
  private final Map<Integer, CostRow[][]> totals = new HashMap<>();

  /** How many costs are remembered. */
  long costs;

  private int latestTotal = -1;
  private CostRow[][] latest = {};

  /** Where nothing is sent: no costs, whatever the load. */
  private CostRow none = new CostRow(0, 0, null);

  /** Costs by the load of a member, all else given. */
  final class CostRow {
    /** Milliseconds by load; below 0 where they are not known: {@link #ms} computes them. */
    final double[] known;

    private final double meanUnits;
    private final AllToAllLoad load;

    private CostRow(int maxUnits, double meanUnits, AllToAllLoad load) {
      this.meanUnits = meanUnits;
      this.load = load;
      known = new double[maxUnits + 1];
      Arrays.fill(known, load == null ? 0 : UNKNOWN);
    }

    /**
     * Returns the all-to-all in milliseconds, idle time not included.
     *
     * @param units load of the member, at most the largest
     */
    double ms(int units) {
      double ms = known[units];
      return ms < 0 ? compute(units) : ms;
    }

    private double compute(int units) {
      known[units] =
          collective.allToAllMs(
              evaluator,
              units * bytesPerUnit,
              load,
              units * elementsPerUnit,
              meanUnits * elementsPerUnit);
      return known[units];
    }
  }

  /**
   * @param evaluator predicts
   * @param collective the collective whose all-to-all it is
   * @param elementsPerUnit numbers that a unit of load stands for
   * @param choices how many codecs the collective may have, none among them: they share memory
   */
  AllToAllCosts(
      CostEvaluator evaluator, StepCollective collective, double elementsPerUnit, int choices) {
    maxCosts = MAX_COSTS / choices;
    this.evaluator = evaluator;
    this.collective = collective;
    this.elementsPerUnit = elementsPerUnit;
    bytesPerUnit = elementsPerUnit / collective.devices() * collective.bytesPerElement();
    members = collective.members();
  }

  /**
   * Returns the all-to-all by the load of a member.
   *
   * @param maxUnits largest load of any member
   * @param totalUnits load of all members together
   * @param nodeLevel level of the node with the largest load, {@link AllToAllLoad#nodeLevel}
   */
  CostRow row(int maxUnits, int totalUnits, int nodeLevel) {
    if (members.devices() == 1 || maxUnits == 0) {
      none = maxUnits < none.known.length ? none : new CostRow(maxUnits, 0, null);
      return none;
    }
    boolean areTooMany = costs > maxCosts;
    if (areTooMany) {
      totals.clear();
      costs = 0;
    }
    if (areTooMany || latestTotal != totalUnits) {
      latest = totals.getOrDefault(totalUnits, new CostRow[0][]);
      latestTotal = totalUnits;
    }
    if (nodeLevel >= latest.length) {
      latest = Arrays.copyOf(latest, 2 * nodeLevel);
      totals.put(totalUnits, latest);
    }
    CostRow[] rows = latest[nodeLevel];
    if (rows == null || maxUnits >= rows.length) {
      int before = rows == null ? 0 : rows.length;
      CostRow[] grown = new CostRow[Math.max(2 * before, maxUnits + 1)];
      if (rows != null) {
        System.arraycopy(rows, 0, grown, 0, before);
      }
      costs += grown.length - before;
      rows = grown;
      latest[nodeLevel] = rows;
    }
    if (rows[maxUnits] == null) {
      costs += maxUnits;
      double mean = (double) totalUnits / members.devices();
      rows[maxUnits] =
          new CostRow(
              maxUnits,
              mean,
              new AllToAllLoad(members, maxUnits * bytesPerUnit, mean * bytesPerUnit, nodeLevel));
    }
    return rows[maxUnits];
  }

  /** Returns one member's all-to-all in milliseconds; see {@link #row}. */
  double ms(int units, int maxUnits, int totalUnits, int nodeLevel) {
    return row(maxUnits, totalUnits, nodeLevel).ms(units);
  }

  /** Returns a member's all-to-all in milliseconds if all have the same load. */
  double evenMs(int units, int totalUnits) {
    return ms(units, units, totalUnits, AllToAllLoad.LEVELS);
  }
}
