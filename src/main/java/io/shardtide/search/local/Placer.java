package io.shardtide.search.local;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.Slowdowns;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.ShapeCosts;
import io.shardtide.search.TableGroup;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Places columns that are on no device, where tables may be cut anywhere and are not split: the
 * start of a local search.
 *
 * <p>Tables are cut into parts of even width; the most expensive part goes first, to the device
 * with the smallest load that has room (longest processing time first, Graham 1969).
 */
final class Placer {
  private static final double FINEST = 0.2;
  private static final double COARSEST = 4;
  private static final double GRAIN_STEP = 1.1;

  private final List<TableGroup> tables;
  private final ClusterSpec cluster;
  private final ShapeCosts costs;
  private final CostEvaluator evaluator;
  private final Slowdowns slowdowns;
  private final double targetMs;
  private final double meanUnits;
  private final double msPerUnit;

  /** Columns of a table that are placed together. */
  private record WaitingColumns(int table, int columns, double aloneMs) {
    static final Comparator<WaitingColumns> MOST_EXPENSIVE_FIRST =
        Comparator.comparingDouble(WaitingColumns::aloneMs)
            .reversed()
            .thenComparingInt(WaitingColumns::table)
            .thenComparingInt(WaitingColumns::columns);
  }

  Placer(
      List<TableGroup> tables,
      ClusterSpec cluster,
      ShapeCosts costs,
      CostEvaluator evaluator,
      Slowdowns slowdowns,
      AllToAllCosts allToAll) {
    this.tables = tables;
    this.cluster = cluster;
    this.costs = costs;
    this.evaluator = evaluator;
    this.slowdowns = slowdowns;
    double sumMs = 0;
    for (int t = 0; t < tables.size(); t++) {
      sumMs += costs.aloneMs(costs.shape(t, tables.get(t).columns()));
    }
    targetMs = sumMs / cluster.devices();
    int total = costs.totalUnits();
    meanUnits = (double) total / cluster.devices();
    int large = (int) Math.ceil(meanUnits);
    msPerUnit =
        (allToAll.forwardMs(large, large, total, AllToAllLoad.LEVELS)
                + allToAll.backwardMs(large, large, total, AllToAllLoad.LEVELS))
            / large;
  }

  /**
   * Returns limits of the cost of a part, as multiples of an even share of all costs, for which
   * neither the most expensive part nor an even share of all parts is large: the more a table is
   * cut, the more it costs in total.
   *
   * @param count the largest number of limits to return
   * @param apart smallest factor between two of them
   * @return the best first
   */
  List<Double> grains(int count, double apart) {
    record Grain(double grain, double worstMs) {}
    List<Grain> grains = new ArrayList<>();
    for (double grain = FINEST; grain <= COARSEST; grain *= GRAIN_STEP) {
      List<WaitingColumns> parts = new ArrayList<>();
      for (int t = 0; t < tables.size(); t++) {
        cut(parts, t, tables.get(t).columns(), grain, Integer.MAX_VALUE);
      }
      double sumMs = parts.stream().mapToDouble(WaitingColumns::aloneMs).sum();
      double largestMs = parts.stream().mapToDouble(WaitingColumns::aloneMs).max().orElse(0);
      grains.add(new Grain(grain, Math.max(largestMs, sumMs / cluster.devices())));
    }
    grains.sort(Comparator.comparingDouble(Grain::worstMs).thenComparingDouble(Grain::grain));
    List<Double> chosen = new ArrayList<>();
    for (Grain grain : grains) {
      boolean isNew =
          chosen.stream().allMatch(c -> Math.max(c / grain.grain(), grain.grain() / c) > apart);
      if (isNew && chosen.size() < count) {
        chosen.add(grain.grain());
      }
    }
    return chosen;
  }

  /**
   * Places all columns that are on no device.
   *
   * @param assignment receives them
   * @param grain largest cost of a part, as a multiple of an even share of all costs
   * @param cap largest all-to-all load of a device, as a multiple of the mean, where possible
   * @return whether everything has found room; otherwise the assignment is incomplete
   */
  boolean place(Assignment assignment, double grain, double cap) {
    double[] loadMs = new double[assignment.devices()];
    for (int d = 0; d < loadMs.length; d++) {
      loadMs[d] = loadMs(assignment, d);
    }
    List<WaitingColumns> parts = new ArrayList<>();
    int maxUnits = (int) Math.ceil(cap * meanUnits);
    for (int t = 0; t < tables.size(); t++) {
      cut(parts, t, missing(assignment, t), grain, maxUnits);
    }
    parts.sort(WaitingColumns.MOST_EXPENSIVE_FIRST);
    for (WaitingColumns part : parts) {
      if (!place(assignment, loadMs, part, maxUnits)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Removes shards from devices whose memory is exceeded: each time the smallest that is enough, or
   * else the largest.
   */
  void evict(Assignment assignment) {
    for (int d = 0; d < assignment.devices(); d++) {
      long over = assignment.bytes(d) - cluster.usableBytesPerDevice();
      while (over > 0) {
        int chosen = 0;
        for (int i = 1; i < assignment.shardsOfPlace(d); i++) {
          long bytes = bytes(assignment.shapeOfPlace(d, i));
          long best = bytes(assignment.shapeOfPlace(d, chosen));
          boolean better = best >= over ? bytes >= over && bytes < best : bytes > best;
          chosen = better ? i : chosen;
        }
        int table = assignment.table(d, chosen);
        assignment.edit(table, d, assignment.shapeOfPlace(d, chosen), ShapeCosts.NONE);
        over = assignment.bytes(d) - cluster.usableBytesPerDevice();
      }
    }
  }

  private long bytes(int shape) {
    return costs.load(shape).bytes();
  }

  private double loadMs(Assignment assignment, int device) {
    return assignment.shardsOfPlace(device) == 0
        ? 0
        : slowdowns.computeMs(device, evaluator.computeMs(assignment.towerSum(device)))
            + slowdowns.communicationMs(device, msPerUnit * assignment.allToAllUnits(device));
  }

  private int missing(Assignment assignment, int table) {
    return tables.get(table).columns() - assignment.placedColumns(table);
  }

  private void cut(List<WaitingColumns> parts, int table, int columns, double grain, int maxUnits) {
    if (columns == 0) {
      return;
    }
    int units = columns / TableSpec.COLUMN_UNIT;
    int load = costs.allToAllUnits(costs.shape(table, columns));
    int count = Math.max(1, Math.min(units, (load - 1) / maxUnits + 1));
    while (count < units && isTooLarge(table, units, count, grain)) {
      count++;
    }
    for (int i = 0; i < count; i++) {
      parts.add(part(table, (units / count + (i < units % count ? 1 : 0)) * TableSpec.COLUMN_UNIT));
    }
  }

  /** Returns whether the widest of so many parts costs too much, or exceeds a device's memory. */
  private boolean isTooLarge(int table, int units, int count, double grain) {
    int columns = (units + count - 1) / count * TableSpec.COLUMN_UNIT;
    return costs.aloneMs(costs.shape(table, columns)) > grain * targetMs
        || tables.get(table).bytes(columns) > cluster.usableBytesPerDevice();
  }

  private boolean place(Assignment assignment, double[] loadMs, WaitingColumns part, int maxUnits) {
    int shape = costs.shape(part.table(), part.columns());
    int best = -1;
    int bestOfAnyUnits = -1;
    for (int d = 0; d < loadMs.length; d++) {
      if (assignment.bytes(d) + bytes(shape) > cluster.usableBytesPerDevice()) {
        continue;
      }
      if (bestOfAnyUnits < 0 || loadMs[d] < loadMs[bestOfAnyUnits]) {
        bestOfAnyUnits = d;
      }
      if (assignment.allToAllUnits(d) + costs.allToAllUnits(shape) <= maxUnits
          && (best < 0 || loadMs[d] < loadMs[best])) {
        best = d;
      }
    }
    int half = part.columns() / 2 / TableSpec.COLUMN_UNIT * TableSpec.COLUMN_UNIT;
    if (best < 0 && half > 0) {
      return place(assignment, loadMs, part(part.table(), part.columns() - half), maxUnits)
          && place(assignment, loadMs, part(part.table(), half), maxUnits);
    }
    int chosen = best >= 0 ? best : bestOfAnyUnits;
    if (chosen < 0) {
      return false;
    }
    assignment.edit(part.table(), chosen, ShapeCosts.NONE, shape);
    loadMs[chosen] = loadMs(assignment, chosen);
    return true;
  }

  private WaitingColumns part(int table, int columns) {
    return new WaitingColumns(table, columns, costs.aloneMs(costs.shape(table, columns)));
  }

  /** How {@link #pack} chooses among devices with room. */
  enum PlacementStrategy {
    /** The first. */
    FIRST,
    /** The one with the least room. */
    BEST,
    /** The one with the most room. */
    WORST
  }

  /**
   * Packs all tables by bytes alone: those with the largest narrowest shards first, as many columns
   * on a device as it has room for. Since tables can be cut every 4 columns, little memory is left
   * over.
   *
   * @param assignment receives everything; empty
   * @param strategy how to choose among devices
   * @param disorder 0 for the order by size; larger values shuffle it more
   * @param random shuffles
   * @return bytes that found no room
   */
  long pack(
      Assignment assignment, PlacementStrategy strategy, double disorder, SeededRandom random) {
    Integer[] order = new Integer[tables.size()];
    double[] key = new double[order.length];
    for (int t = 0; t < order.length; t++) {
      order[t] = t;
      key[t] = tables.get(t).bytes(TableSpec.COLUMN_UNIT) * (1 + disorder * random.exponential());
    }
    // A stable sort: of equal tables, the first one comes first.
    Arrays.sort(order, Comparator.comparingDouble((Integer t) -> -key[t]));
    long unplaced = 0;
    for (int t : order) {
      unplaced += pack(assignment, t, strategy);
    }
    return unplaced;
  }

  private long pack(Assignment assignment, int table, PlacementStrategy strategy) {
    TableGroup spec = tables.get(table);
    int left = spec.columns();
    long unit = spec.bytes(TableSpec.COLUMN_UNIT);
    while (left > 0) {
      int chosen = -1;
      for (int d = 0; d < assignment.devices(); d++) {
        long room = cluster.usableBytesPerDevice() - assignment.bytes(d);
        if (room >= unit
            && assignment.shape(table, d) == ShapeCosts.NONE
            && (chosen < 0 || isBetter(strategy, assignment, d, chosen))) {
          chosen = d;
        }
      }
      if (chosen < 0) {
        return spec.bytes(left);
      }
      long room = cluster.usableBytesPerDevice() - assignment.bytes(chosen);
      int columns = left;
      while (spec.bytes(columns) > room) {
        columns -= TableSpec.COLUMN_UNIT;
      }
      assignment.edit(table, chosen, ShapeCosts.NONE, costs.shape(table, columns));
      left -= columns;
    }
    return 0;
  }

  private static boolean isBetter(
      PlacementStrategy strategy, Assignment assignment, int d, int than) {
    return switch (strategy) {
      case FIRST -> false;
      case BEST -> assignment.bytes(d) > assignment.bytes(than);
      case WORST -> assignment.bytes(d) < assignment.bytes(than);
    };
  }
}
