package io.shardtide.search.local;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.StepComm;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;
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
   * More are forgotten: a search has visited so many totals, and comes back to few. 32 MiB of
   * costs; with those of up to 1,024 totals, 2,000 tables on 16 devices filled a heap of 2 GiB.
   */
  private static final long MAX_COSTS = 1 << 22;

  private final CostEvaluator evaluator;
  private final StepComm wire;
  private final ShardScope scope;
  private final DeviceGroup group;
  private final double elementsPerUnit;
  private final double forwardBytesPerUnit;
  private final double backwardBytesPerUnit;
  private final Map<Integer, LevelRows[]> totals = new HashMap<>();
  private long costs;
  private int latestTotal = -1;
  private LevelRows[] latest = {};

  /** Where nothing is sent: no load, no costs. */
  private final CostRow none = new CostRow(Direction.FORWARD, 0, 0, null);

  /** Costs at one load of all together and one level of the largest node, by largest load. */
  private static final class LevelRows {
    private CostRow[] forward = {};
    private CostRow[] backward = {};
  }

  /** Costs of one direction by the load of a member, all else given. */
  final class CostRow {
    private final Direction direction;
    private final double[] ms;
    private final double meanUnits;
    private final AllToAllLoad load;

    private CostRow(Direction direction, int maxUnits, double meanUnits, AllToAllLoad load) {
      this.direction = direction;
      this.meanUnits = meanUnits;
      this.load = load;
      ms = new double[maxUnits + 1];
      Arrays.fill(ms, UNKNOWN);
    }

    /**
     * Returns the all-to-all in milliseconds, idle time not included.
     *
     * @param units load of the member, at most the largest
     */
    double ms(int units) {
      if (load == null) {
        return 0;
      }
      double known = ms[units];
      return known == UNKNOWN ? compute(units) : known;
    }

    private double compute(int units) {
      ms[units] =
          evaluator.allToAllMs(direction, units * bytesPerUnit(direction), load)
              + wire.allToAllCodingMs(
                  scope, direction, group, units * elementsPerUnit, meanUnits * elementsPerUnit);
      return ms[units];
    }
  }

  /**
   * @param evaluator predicts
   * @param wire the devices, and what they send
   * @param scope the shards whose all-to-all it is: those on devices, or those split over nodes
   * @param elementsPerUnit numbers that a unit of load stands for
   */
  AllToAllCosts(CostEvaluator evaluator, StepComm wire, ShardScope scope, double elementsPerUnit) {
    this.evaluator = evaluator;
    this.wire = wire;
    this.scope = scope;
    group =
        scope == ShardScope.NODE
            ? new DeviceGroup(wire.cluster().nodes(), 1)
            : DeviceGroup.of(wire.cluster());
    this.elementsPerUnit = elementsPerUnit;
    double toPeer = elementsPerUnit / wire.cluster().devices();
    forwardBytesPerUnit = toPeer * wire.bytesPerElement(scope, Direction.FORWARD);
    backwardBytesPerUnit = toPeer * wire.bytesPerElement(scope, Direction.BACKWARD);
  }

  /** Returns the members. */
  DeviceGroup group() {
    return group;
  }

  private double bytesPerUnit(Direction direction) {
    return direction == Direction.FORWARD ? forwardBytesPerUnit : backwardBytesPerUnit;
  }

  /**
   * Returns the forward all-to-all by the load of a member.
   *
   * @param maxUnits largest load of any member
   * @param totalUnits load of all members together
   * @param nodeLevel level of the node with the largest load, {@link AllToAllLoad#nodeLevel}
   */
  CostRow forward(int maxUnits, int totalUnits, int nodeLevel) {
    if (group.devices() == 1 || maxUnits == 0) {
      return none;
    }
    LevelRows rows = rows(totalUnits, nodeLevel);
    rows.forward = withRow(rows.forward, Direction.FORWARD, maxUnits, totalUnits, nodeLevel);
    return rows.forward[maxUnits];
  }

  /** Returns the backward all-to-all by the load of a member; see {@link #forward}. */
  CostRow backward(int maxUnits, int totalUnits, int nodeLevel) {
    if (group.devices() == 1 || maxUnits == 0) {
      return none;
    }
    LevelRows rows = rows(totalUnits, nodeLevel);
    rows.backward = withRow(rows.backward, Direction.BACKWARD, maxUnits, totalUnits, nodeLevel);
    return rows.backward[maxUnits];
  }

  /** Returns one member's forward all-to-all in milliseconds; see {@link #forward}. */
  double forwardMs(int units, int maxUnits, int totalUnits, int nodeLevel) {
    return forward(maxUnits, totalUnits, nodeLevel).ms(units);
  }

  /** Returns one member's backward all-to-all in milliseconds; see {@link #forward}. */
  double backwardMs(int units, int maxUnits, int totalUnits, int nodeLevel) {
    return backward(maxUnits, totalUnits, nodeLevel).ms(units);
  }

  private LevelRows rows(int totalUnits, int nodeLevel) {
    if (costs > MAX_COSTS) {
      totals.clear();
      costs = 0;
      latestTotal = -1;
    }
    if (latestTotal != totalUnits) {
      latest = totals.getOrDefault(totalUnits, new LevelRows[0]);
      latestTotal = totalUnits;
    }
    if (nodeLevel >= latest.length) {
      latest = Arrays.copyOf(latest, 2 * nodeLevel);
    }
    if (latest[nodeLevel] == null) {
      latest[nodeLevel] = new LevelRows();
      totals.put(totalUnits, latest);
    }
    return latest[nodeLevel];
  }

  private CostRow[] withRow(
      CostRow[] rows, Direction direction, int maxUnits, int totalUnits, int nodeLevel) {
    if (maxUnits < rows.length && rows[maxUnits] != null) {
      return rows;
    }
    CostRow[] grown =
        maxUnits < rows.length
            ? rows
            : Arrays.copyOf(rows, Math.max(2 * rows.length, maxUnits + 1));
    costs += grown.length - rows.length + maxUnits;
    double bytes = bytesPerUnit(direction);
    double mean = (double) totalUnits / group.devices();
    grown[maxUnits] =
        new CostRow(
            direction,
            maxUnits,
            mean,
            new AllToAllLoad(group, maxUnits * bytes, mean * bytes, nodeLevel));
    return grown;
  }
}
