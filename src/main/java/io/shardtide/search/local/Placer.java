package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.ShardCosts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Puts columns that are on no device somewhere: what a local search begins with.
 *
 * <p>Tables are cut into parts of even width, the dearest part first goes to the device with the
 * least to do that has room (longest processing time first, Graham 1969).
 */
final class Placer {
  private static final double FINEST = 0.2;
  private static final double COARSEST = 4;
  private static final double GRAIN_STEP = 1.1;

  private final List<TableSpec> tables;
  private final ClusterSpec cluster;
  private final ShardCosts costs;
  private final CostEvaluator evaluator;
  private final double targetMs;
  private final double meanColumns;
  private final double msPerColumn;

  /** Columns of a table that go together. */
  private record ColumnPart(int table, int width, double aloneMs) {
    static final Comparator<ColumnPart> DEAREST_FIRST =
        Comparator.comparingDouble(ColumnPart::aloneMs)
            .reversed()
            .thenComparingInt(ColumnPart::table)
            .thenComparingInt(ColumnPart::width);
  }

  Placer(
      List<TableSpec> tables,
      ClusterSpec cluster,
      ShardCosts costs,
      CostEvaluator evaluator,
      AllToAllCosts exchange) {
    this.tables = tables;
    this.cluster = cluster;
    this.costs = costs;
    this.evaluator = evaluator;
    double sumMs = 0;
    long columns = 0;
    for (int t = 0; t < tables.size(); t++) {
      sumMs += costs.get(t, tables.get(t).columns()).aloneMs();
      columns += tables.get(t).columns();
    }
    targetMs = sumMs / cluster.devices();
    meanColumns = (double) columns / cluster.devices();
    int unit = TableSpec.COLUMN_UNIT;
    int wide = (int) Math.ceil(meanColumns / unit) * unit;
    msPerColumn = (exchange.forwardMs(wide, wide) + exchange.backwardMs(wide, wide)) / wide;
  }

  /**
   * Returns how finely tables may be cut so that neither the dearest part nor an even share of all
   * parts is large: the more a table is cut, the more it costs altogether.
   *
   * @param count how many to return
   * @param apart factor between two of them, at least
   * @return the best first
   */
  List<Double> grains(int count, double apart) {
    record Grain(double grain, double worstMs) {}
    List<Grain> grains = new ArrayList<>();
    for (double grain = FINEST; grain <= COARSEST; grain *= GRAIN_STEP) {
      List<ColumnPart> parts = new ArrayList<>();
      for (int t = 0; t < tables.size(); t++) {
        cut(parts, t, tables.get(t).columns(), grain, Integer.MAX_VALUE);
      }
      double sumMs = parts.stream().mapToDouble(ColumnPart::aloneMs).sum();
      double dearestMs = parts.stream().mapToDouble(ColumnPart::aloneMs).max().orElse(0);
      grains.add(new Grain(grain, Math.max(dearestMs, sumMs / cluster.devices())));
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
   * Places all columns that are on no device yet.
   *
   * @param assignment takes them
   * @param grain what a part may cost at most, as a multiple of an even share of all costs
   * @param cap columns on a device at most, as a multiple of the mean, where that is possible
   * @return whether everything found room; otherwise the assignment is incomplete
   */
  boolean place(Assignment assignment, double grain, double cap) {
    double[] loadMs = new double[assignment.devices()];
    for (int d = 0; d < loadMs.length; d++) {
      loadMs[d] = loadMs(assignment, d);
    }
    List<ColumnPart> parts = new ArrayList<>();
    int units = (int) Math.ceil(cap * meanColumns / TableSpec.COLUMN_UNIT);
    int maxColumns = units * TableSpec.COLUMN_UNIT;
    for (int t = 0; t < tables.size(); t++) {
      cut(parts, t, missing(assignment, t), grain, maxColumns);
    }
    parts.sort(ColumnPart.DEAREST_FIRST);
    for (ColumnPart part : parts) {
      if (!place(assignment, loadMs, part, maxColumns)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Takes shards from devices that hold more bytes than they have: each time the smallest that is
   * enough, or else the largest.
   */
  void evict(Assignment assignment) {
    for (int d = 0; d < assignment.devices(); d++) {
      long over = assignment.bytes(d) - cluster.memoryBytesPerDevice();
      while (over > 0) {
        int chosen = 0;
        for (int i = 1; i < assignment.shardsOfDevice(d); i++) {
          long bytes = bytes(assignment, d, i);
          long best = bytes(assignment, d, chosen);
          boolean better = best >= over ? bytes >= over && bytes < best : bytes > best;
          chosen = better ? i : chosen;
        }
        assignment.edit(assignment.table(d, chosen), d, assignment.widthOfDevice(d, chosen), 0);
        over = assignment.bytes(d) - cluster.memoryBytesPerDevice();
      }
    }
  }

  private static long bytes(Assignment assignment, int device, int i) {
    return assignment.bytes(assignment.table(device, i), assignment.widthOfDevice(device, i));
  }

  private double loadMs(Assignment assignment, int device) {
    int columns = assignment.columns(device);
    return columns == 0 ? 0 : evaluator.computeMs(assignment.sum(device)) + msPerColumn * columns;
  }

  private int missing(Assignment assignment, int table) {
    int columns = tables.get(table).columns();
    for (int i = 0; i < assignment.shardsOfTable(table); i++) {
      columns -= assignment.widthOfTable(table, i);
    }
    return columns;
  }

  private void cut(List<ColumnPart> parts, int table, int columns, double grain, int maxColumns) {
    if (columns == 0) {
      return;
    }
    int units = columns / TableSpec.COLUMN_UNIT;
    int count = Math.max(1, Math.min(units, (columns - 1) / maxColumns + 1));
    while (count < units && isTooMuch(table, units, count, grain)) {
      count++;
    }
    for (int i = 0; i < count; i++) {
      int width = (units / count + (i < units % count ? 1 : 0)) * TableSpec.COLUMN_UNIT;
      parts.add(part(table, width));
    }
  }

  /** Returns whether the widest of so many parts is too dear, or too large for a device. */
  private boolean isTooMuch(int table, int units, int count, double grain) {
    int width = (units + count - 1) / count * TableSpec.COLUMN_UNIT;
    return costs.get(table, width).aloneMs() > grain * targetMs
        || tables.get(table).bytes(width) > cluster.memoryBytesPerDevice();
  }

  private boolean place(Assignment assignment, double[] loadMs, ColumnPart part, int maxColumns) {
    int best = -1;
    int bestAnyColumns = -1;
    for (int d = 0; d < loadMs.length; d++) {
      if (assignment.bytes(d) + assignment.bytes(part.table(), part.width())
          > cluster.memoryBytesPerDevice()) {
        continue;
      }
      if (bestAnyColumns < 0 || loadMs[d] < loadMs[bestAnyColumns]) {
        bestAnyColumns = d;
      }
      if (assignment.columns(d) + part.width() <= maxColumns
          && (best < 0 || loadMs[d] < loadMs[best])) {
        best = d;
      }
    }
    int half = part.width() / 2 / TableSpec.COLUMN_UNIT * TableSpec.COLUMN_UNIT;
    if (best < 0 && half > 0) {
      return place(assignment, loadMs, part(part.table(), part.width() - half), maxColumns)
          && place(assignment, loadMs, part(part.table(), half), maxColumns);
    }
    int chosen = best >= 0 ? best : bestAnyColumns;
    if (chosen < 0) {
      return false;
    }
    assignment.edit(part.table(), chosen, 0, part.width());
    loadMs[chosen] = loadMs(assignment, chosen);
    return true;
  }

  private ColumnPart part(int table, int width) {
    return new ColumnPart(table, width, costs.get(table, width).aloneMs());
  }

  /** How {@link #pack} chooses among devices with room. */
  enum PlacementStrategy {
    /** The first. */
    FIRST,
    /** The one with the least room. */
    BEST,
    /** The one with the most. */
    WORST
  }

  /**
   * Packs everything by bytes alone, from nothing: the tables whose narrowest shards are the
   * largest first, as many columns to a device as it has room for. Since tables can be cut every 4
   * columns, this fills memory to the last narrow shard.
   *
   * @param assignment takes everything; empty
   * @param fit how to choose among devices
   * @param disorder 0 for the order by size; more shuffles it
   * @param chance shuffles
   * @return bytes that found no room
   */
  long pack(Assignment assignment, PlacementStrategy fit, double disorder, SeededRandom chance) {
    Integer[] order = new Integer[tables.size()];
    double[] key = new double[order.length];
    for (int t = 0; t < order.length; t++) {
      order[t] = t;
      key[t] = tables.get(t).bytes(TableSpec.COLUMN_UNIT) * (1 + disorder * chance.exponential());
    }
    Arrays.sort(order, Comparator.comparingDouble((Integer t) -> -key[t]).thenComparingInt(t -> t));
    long unplaced = 0;
    for (int t : order) {
      unplaced += pack(assignment, t, fit);
    }
    return unplaced;
  }

  private long pack(Assignment assignment, int table, PlacementStrategy fit) {
    TableSpec spec = tables.get(table);
    int left = spec.columns();
    long unit = spec.bytes(TableSpec.COLUMN_UNIT);
    while (left > 0) {
      int chosen = -1;
      for (int d = 0; d < assignment.devices(); d++) {
        long room = cluster.memoryBytesPerDevice() - assignment.bytes(d);
        if (room >= unit
            && assignment.width(table, d) == 0
            && (chosen < 0 || isBetter(fit, assignment, d, chosen))) {
          chosen = d;
        }
      }
      if (chosen < 0) {
        return spec.bytes(left);
      }
      long room = cluster.memoryBytesPerDevice() - assignment.bytes(chosen);
      int width = left;
      while (spec.bytes(width) > room) {
        width -= TableSpec.COLUMN_UNIT;
      }
      assignment.edit(table, chosen, 0, width);
      left -= width;
    }
    return 0;
  }

  private static boolean isBetter(PlacementStrategy fit, Assignment assignment, int d, int than) {
    return switch (fit) {
      case FIRST -> false;
      case BEST -> assignment.bytes(d) > assignment.bytes(than);
      case WORST -> assignment.bytes(d) < assignment.bytes(than);
    };
  }
}
