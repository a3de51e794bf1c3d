package io.shardtide.search.reference;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.PlanCost;
import io.shardtide.cost.TowerSums;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.search.ShardCosts;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Places the shards of a split by NeuroShard's greedy grid search (Zha et al., MLSys 2023,
 * algorithm 2): the costliest shard first, each to the device whose computation is predicted to be
 * the shortest so far, among those with room for its bytes and, under a cap, for its columns. The
 * cap balances communication; it is tried at M points.
 *
 * <p>Where no cap admits a placement, which NeuroShard leaves at that, three placements without a
 * cap follow: the same order, then the largest bytes first to the shortest computation, then to the
 * most free memory.
 */
final class GreedyPlacer {
  private static final long UNCAPPED = Long.MAX_VALUE;

  private final ClusterSpec cluster;
  private final ShardCosts costs;
  private final CostEvaluator evaluator;
  private final double[] caps;
  private final double[][] towerSums;
  private final double[] computeMs;
  private final int[] columns;
  private final long[] bytes;

  /** The largest first, or the costliest. */
  private enum Order {
    COST,
    BYTES
  }

  /**
   * @param cluster the devices
   * @param costs what shards cost
   * @param evaluator predicts
   * @param towerSize length of a tower's output
   * @param caps caps on a device's columns, as multiples of the mean, rising
   */
  GreedyPlacer(
      ClusterSpec cluster,
      ShardCosts costs,
      CostEvaluator evaluator,
      int towerSize,
      double[] caps) {
    this.cluster = cluster;
    this.costs = costs;
    this.evaluator = evaluator;
    this.caps = caps.clone();
    towerSums = new double[cluster.devices()][towerSize];
    computeMs = new double[cluster.devices()];
    columns = new int[cluster.devices()];
    bytes = new long[cluster.devices()];
  }

  /** Returns the best placement of any cap, or one that is not complete. */
  Placement place(ColumnSplit split) {
    ShardCosts.ShardCost[] shards = new ShardCosts.ShardCost[split.size()];
    long totalColumns = 0;
    for (int s = 0; s < shards.length; s++) {
      shards[s] = costs.get(split.table(s), split.width(s));
      totalColumns += split.width(s);
    }
    int[] byCost = order(shards, Order.COST);
    Placement best = null;
    for (double cap : caps) {
      long limit = (long) Math.floor(cap * totalColumns / cluster.devices());
      PlacementAttempt attempt = attempt(split, shards, byCost, limit, false);
      best = better(best, attempt);
      if (attempt.placement().isComplete() && !attempt.capped()) {
        break; // A wider cap would change nothing.
      }
    }
    if (best.isComplete()) {
      return best;
    }
    int[] byBytes = order(shards, Order.BYTES);
    best = better(best, attempt(split, shards, byCost, UNCAPPED, false));
    best = better(best, attempt(split, shards, byBytes, UNCAPPED, false));
    return better(best, attempt(split, shards, byBytes, UNCAPPED, true));
  }

  private static Placement better(Placement best, PlacementAttempt attempt) {
    return best == null || attempt.placement().compareTo(best) < 0 ? attempt.placement() : best;
  }

  private static int[] order(ShardCosts.ShardCost[] shards, Order order) {
    Comparator<Integer> largestFirst =
        switch (order) {
          case COST -> Comparator.comparingDouble((Integer s) -> -shards[s].aloneMs());
          case BYTES -> Comparator.comparingLong((Integer s) -> -shards[s].bytes());
        };
    return IntStream.range(0, shards.length)
        .boxed()
        .sorted(largestFirst.thenComparing(Comparator.naturalOrder()))
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /** A placement, and whether the cap ever turned a shard away. */
  private record PlacementAttempt(Placement placement, boolean capped) {}

  private PlacementAttempt attempt(
      ColumnSplit split,
      ShardCosts.ShardCost[] shards,
      int[] order,
      long maxColumns,
      boolean mostFreeMemory) {
    int devices = cluster.devices();
    for (int d = 0; d < devices; d++) {
      Arrays.fill(towerSums[d], 0);
      computeMs[d] = 0;
      columns[d] = 0;
      bytes[d] = 0;
    }
    int[] device = new int[shards.length];
    long unplacedBytes = 0;
    boolean capped = false;
    for (int s : order) {
      ShardCosts.ShardCost shard = shards[s];
      int chosen = -1;
      for (int d = 0; d < devices; d++) {
        if (bytes[d] + shard.bytes() > cluster.memoryBytesPerDevice()) {
          continue;
        }
        if (columns[d] + split.width(s) > maxColumns) {
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
      columns[chosen] += split.width(s);
      bytes[chosen] += shard.bytes();
      computeMs[chosen] = evaluator.computeMs(towerSums[chosen]);
    }
    boolean complete = Arrays.stream(device).allMatch(d -> d >= 0);
    PlanCost cost = complete ? evaluator.planCost(computeMs, columns, cluster.batchSize()) : null;
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
