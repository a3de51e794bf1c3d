package io.shardtide.search.reference;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TowerSums;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.UsableMemory;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Places the shards of a split by NeuroShard's greedy grid search (Zha et al., MLSys 2023,
 * algorithm 2): the costliest shard first, each to the device with the shortest predicted
 * computation so far, among those with room for its bytes and, under a cap, for its all-to-all
 * load. The cap balances communication; M caps are tried.
 *
 * <p>Where no cap admits a placement, NeuroShard gives up; here three placements without a cap
 * follow: the same order, then the largest bytes first to the shortest computation, then to the
 * most free memory.
 */
final class GreedyPlacer {
  private static final long UNCAPPED = Long.MAX_VALUE;

  private final ClusterSpec cluster;
  private final UsableMemory memory;
  private final ShapeCosts costs;
  private final CostEvaluator evaluator;
  private final Slowdowns slowdowns;
  private final double[] caps;
  private final double[][] towerSums;
  private final double[] computeMs;
  private final int[] units;
  private final long[] bytes;

  /** The largest first, or the costliest. */
  private enum Order {
    COST,
    BYTES
  }

  /**
   * @param cluster the devices
   * @param costs costs of shapes
   * @param evaluator predicts
   * @param slowdowns how slow the devices are
   * @param sumSize length of a device's sum of towers
   * @param caps caps on a device's all-to-all load, as multiples of the mean, rising
   */
  GreedyPlacer(
      ClusterSpec cluster,
      ShapeCosts costs,
      CostEvaluator evaluator,
      Slowdowns slowdowns,
      int sumSize,
      double[] caps) {
    this.cluster = cluster;
    memory = cluster.usableMemory();
    this.costs = costs;
    this.evaluator = evaluator;
    this.slowdowns = slowdowns;
    this.caps = caps.clone();
    towerSums = new double[cluster.devices()][sumSize];
    computeMs = new double[cluster.devices()];
    units = new int[cluster.devices()];
    bytes = new long[cluster.devices()];
  }

  /** Returns the best placement of any cap, or one that is not complete. */
  Placement place(ColumnSplit split) {
    int[] shapes = split.shapes(costs);
    int[] byCost = order(shapes, Order.COST);
    Placement best = null;
    for (double cap : caps) {
      long limit = (long) Math.floor(cap * costs.totalUnits() / cluster.devices());
      PlacementAttempt attempt = attempt(split, shapes, byCost, limit, false);
      best = better(best, attempt);
      if (attempt.placement().isComplete() && !attempt.capped()) {
        break; // A wider cap would change nothing.
      }
    }
    if (best.isComplete()) {
      return best;
    }
    int[] byBytes = order(shapes, Order.BYTES);
    best = better(best, attempt(split, shapes, byCost, UNCAPPED, false));
    best = better(best, attempt(split, shapes, byBytes, UNCAPPED, false));
    return better(best, attempt(split, shapes, byBytes, UNCAPPED, true));
  }

  private static Placement better(Placement best, PlacementAttempt attempt) {
    return best == null || attempt.placement().compareTo(best) < 0 ? attempt.placement() : best;
  }

  private int[] order(int[] shapes, Order order) {
    Comparator<Integer> largestFirst =
        switch (order) {
          case COST -> Comparator.comparingDouble((Integer s) -> -costs.aloneMs(shapes[s]));
          case BYTES -> Comparator.comparingLong((Integer s) -> -costs.load(shapes[s]).bytes());
        };
    return IntStream.range(0, shapes.length)
        .boxed()
        .sorted(largestFirst.thenComparing(Comparator.naturalOrder()))
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /** A placement, and whether the cap excluded a device for any shard. */
  private record PlacementAttempt(Placement placement, boolean capped) {}

  private PlacementAttempt attempt(
      ColumnSplit split, int[] shapes, int[] order, long maxUnits, boolean mostFreeMemory) {
    int devices = cluster.devices();
    for (int d = 0; d < devices; d++) {
      Arrays.fill(towerSums[d], 0);
      computeMs[d] = 0;
      units[d] = 0;
      bytes[d] = 0;
    }
    int[] device = new int[shapes.length];
    long unplacedBytes = 0;
    boolean capped = false;
    for (int s : order) {
      ShapeLoad shard = costs.load(shapes[s]);
      int shardUnits = costs.allToAllUnits(shapes[s]);
      int chosen = -1;
      for (int d = 0; d < devices; d++) {
        if (bytes[d] + shard.bytes() > memory.bytes(d)) {
          continue;
        }
        if (units[d] + shardUnits > maxUnits) {
          capped = true;
          continue;
        }
        if (chosen < 0 || isBetter(d, chosen, mostFreeMemory)) {
          chosen = d;
        }
      }
      device[s] = chosen;
      if (chosen < 0) {
        unplacedBytes += shard.bytes();
        continue;
      }
      TowerSums.add(towerSums[chosen], shard.tower());
      units[chosen] += shardUnits;
      bytes[chosen] += shard.bytes();
      computeMs[chosen] = slowdowns.computeMs(chosen, evaluator.computeMs(towerSums[chosen]));
    }
    boolean complete = Arrays.stream(device).allMatch(d -> d >= 0);
    StepCost cost =
        complete
            ? StepCost.of(
                computeMs,
                slowdowns.communication(
                    StepCollectives.of(cluster)
                        .allToAll(
                            evaluator,
                            Arrays.stream(units)
                                .mapToDouble(u -> u * costs.elementsPerAllToAllUnit())
                                .toArray())))
            : null;
    return new PlacementAttempt(
        new Placement(split, device, cost, complete ? bytes.clone() : null, unplacedBytes), capped);
  }

  private boolean isBetter(int d, int than, boolean mostFreeMemory) {
    int first =
        mostFreeMemory
            ? Long.compare(bytes[d], bytes[than])
            : Double.compare(computeMs[d], computeMs[than]);
    int second =
        mostFreeMemory
            ? Double.compare(computeMs[d], computeMs[than])
            : Long.compare(bytes[d], bytes[than]);
    return first < 0 || (first == 0 && second < 0);
  }
}
