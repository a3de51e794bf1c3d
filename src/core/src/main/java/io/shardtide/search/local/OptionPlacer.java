package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.Slowdowns;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.ShapeCosts;
import io.shardtide.search.TableGroup;
import io.shardtide.search.local.TableOptions.Option;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * Places tables in one of their {@link TableOptions}: the start of a local search where parts are
 * of equal width, or tables may be split.
 *
 * <p>Each table is sharded in the way with the least work whose parts are small enough; split
 * tables go first, and then the parts on single devices, the most expensive one first, to the
 * device with the smallest load that has room. A table that finds no room is sharded in the next
 * way.
 */
final class OptionPlacer {
  /** Largest costs of a part, as multiples of an even share of all costs. */
  static final double[] GRAINS = {1, 0.7, 0.5, 0.35, 0.25, 1.4};

  /** Shares of all device memory that tables may take by their bytes: devices are not filled. */
  private static final double[] FILLS = {1, 0.97, 0.94, 0.9, 0.8};

  /** Prices of a byte below and above all that matter, and steps between them. */
  private static final double LEAST_MS_PER_BYTE = 1e-16;

  private static final double MOST_MS_PER_BYTE = 1e-3;
  private static final int PRICES = 40;

  private final List<TableGroup> tables;
  private final ClusterSpec cluster;
  private final ShapeCosts costs;
  private final CostEvaluator evaluator;
  private final Slowdowns slowdowns;
  private final TableOptions options;
  private final double msPerUnit;
  private double targetMs = Double.NaN;

  /** Tables by the bytes of all their rows, the largest first. */
  private final List<Integer> largestFirst = new ArrayList<>();

  /** A part that waits for a device. */
  private record WaitingPart(int table, int shape, double aloneMs) {
    static final Comparator<WaitingPart> MOST_EXPENSIVE_FIRST =
        Comparator.comparingDouble(WaitingPart::aloneMs)
            .reversed()
            .thenComparingInt(WaitingPart::table)
            .thenComparingInt(WaitingPart::shape);
  }

  OptionPlacer(
      List<TableGroup> tables,
      ClusterSpec cluster,
      ShapeCosts costs,
      CostEvaluator evaluator,
      Slowdowns slowdowns,
      OptionEstimates estimates,
      TableOptions options) {
    this.tables = tables;
    this.cluster = cluster;
    this.costs = costs;
    this.evaluator = evaluator;
    this.slowdowns = slowdowns;
    this.options = options;
    msPerUnit = estimates.msPerUnit();
    for (int t = 0; t < tables.size(); t++) {
      largestFirst.add(t);
    }
    largestFirst.sort(
        Comparator.comparingLong((Integer t) -> -tables.get(t).bytes()).thenComparingInt(t -> t));
  }

  /**
   * Places everything.
   *
   * @param assignment receives it; what it has is taken away
   * @param grain largest cost of a part, as a multiple of an even share of all costs
   * @param cap largest all-to-all load of a part, as a multiple of an even share of all loads
   * @return whether everything has found room; otherwise the assignment is incomplete
   */
  boolean place(Assignment assignment, double grain, double cap) {
    double maxUnits = cap * Math.max(1, costs.totalUnits()) / cluster.devices();
    double maxMs = grain * targetMs();
    for (double fill : FILLS) {
      // Of the attempt before.
      IntStream.range(0, tables.size()).forEach(t -> clear(assignment, t));
      double msPerByte = msPerByte(maxMs, maxUnits, fill * cluster.usableBytes());
      if (place(assignment, t -> way(options.of(t), maxMs, maxUnits, msPerByte))) {
        return true;
      }
      if (msPerByte == 0) {
        return false;
      }
    }
    return false;
  }

  /**
   * Returns the least price of a byte of device memory, in milliseconds a step, at which all tables
   * together fit: no table has a cache, or rows in device memory, that save less (the multiplier of
   * Everett's method, Operations Research 1963).
   *
   * @param bytes of all devices
   */
  private double msPerByte(double maxMs, double maxUnits, double bytes) {
    if (bytesAt(0, maxMs, maxUnits) <= bytes) {
      return 0;
    }
    double low = StrictMath.log(LEAST_MS_PER_BYTE);
    double high = StrictMath.log(MOST_MS_PER_BYTE);
    for (int i = 0; i < PRICES; i++) {
      double middle = (low + high) / 2;
      if (bytesAt(StrictMath.exp(middle), maxMs, maxUnits) <= bytes) {
        high = middle;
      } else {
        low = middle;
      }
    }
    return StrictMath.exp(high);
  }

  private double bytesAt(double msPerByte, double maxMs, double maxUnits) {
    double bytes = 0;
    for (int t = 0; t < tables.size(); t++) {
      if (!options.of(t).isEmpty()) {
        bytes += way(options.of(t), maxMs, maxUnits, msPerByte).totalBytes();
      }
    }
    return bytes;
  }

  /**
   * Places what is at no place of a running plan, in parts that cost at most as much as a device on
   * average.
   *
   * @param assignment receives it
   * @param isAllowed where rows may be, if the table has such a way
   * @return whether everything has found room; otherwise the assignment is incomplete
   */
  boolean complete(Assignment assignment, Predicate<ShardScope> isAllowed) {
    double meanMs =
        IntStream.range(0, cluster.devices()).mapToDouble(d -> loadMs(assignment, d)).sum()
            / cluster.devices();
    return place(
        assignment,
        t -> {
          List<Option> allowed =
              options.of(t).stream().filter(way -> isAllowed.test(way.scope())).toList();
          return way(
              allowed.isEmpty() ? options.of(t) : allowed, meanMs, Double.POSITIVE_INFINITY, 0);
        });
  }

  /** Returns an even share of all costs, in milliseconds. */
  private double targetMs() {
    if (Double.isNaN(targetMs)) {
      targetMs =
          IntStream.range(0, tables.size())
              .mapToDouble(t -> options.of(t).stream().mapToDouble(Option::workMs).min().orElse(0))
              .sum();
    }
    return targetMs;
  }

  /**
   * Places everything, copied where tables may be; see {@link #place(Assignment, double, double)}.
   */
  boolean placeCopies(Assignment assignment) {
    return place(
        assignment,
        t ->
            options.of(t).stream()
                .filter(way -> way.scope() == ShardScope.COPIES)
                .findFirst()
                .orElse(options.of(t).get(0)));
  }

  /**
   * Places everything, some tables in the way that takes the least memory of a device.
   *
   * @param small how many tables, the largest ones
   */
  boolean placeSmall(Assignment assignment, int small) {
    Set<Integer> smallest = new HashSet<>(largestFirst.subList(0, Math.min(small, tables.size())));
    return place(
        assignment,
        t ->
            smallest.contains(t)
                ? options.smallest(t)
                : way(options.of(t), targetMs(), Double.POSITIVE_INFINITY, 0));
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
   * Packs all tables by bytes alone, each in the way that takes the least memory of a device: those
   * with the largest parts first.
   *
   * @param assignment receives everything; empty
   * @param strategy how to choose among devices
   * @param disorder 0 for the order by size; larger values shuffle it more
   * @param random shuffles
   * @return whether everything has found room; otherwise the assignment is incomplete
   */
  boolean pack(
      Assignment assignment, PlacementStrategy strategy, double disorder, SeededRandom random) {
    Integer[] order = new Integer[tables.size()];
    double[] key = new double[order.length];
    for (int t = 0; t < order.length; t++) {
      if (options.of(t).isEmpty()) {
        return false;
      }
      order[t] = t;
      key[t] = options.smallest(t).bytes() * (1 + disorder * random.exponential());
    }
    // A stable sort: of equal tables, the first one comes first.
    Arrays.sort(order, Comparator.comparingDouble((Integer t) -> -key[t]));
    boolean fit = true;
    for (int t : order) {
      Option way = options.smallest(t);
      fit &=
          way.scope() == ShardScope.DEVICE
              ? pack(assignment, t, way, strategy)
              : place(assignment, t, way);
    }
    return fit;
  }

  private boolean pack(Assignment assignment, int table, Option way, PlacementStrategy strategy) {
    for (int shape : way.shapes()) {
      int chosen = -1;
      for (int d = 0; d < assignment.devices(); d++) {
        if (hasRoom(assignment, d, shape)
            && assignment.shape(table, d) == ShapeCosts.NONE
            && isInNode(assignment, table, d)
            && (chosen < 0 || isBetter(strategy, assignment, d, chosen))) {
          chosen = d;
        }
      }
      if (chosen < 0) {
        return false;
      }
      assignment.edit(table, chosen, ShapeCosts.NONE, shape);
    }
    return true;
  }

  private static boolean isBetter(
      PlacementStrategy strategy, Assignment assignment, int d, int than) {
    return switch (strategy) {
      case FIRST -> false;
      case BEST -> assignment.bytes(d) > assignment.bytes(than);
      case WORST -> assignment.bytes(d) < assignment.bytes(than);
    };
  }

  private boolean place(Assignment assignment, IntFunction<Option> choice) {
    List<WaitingPart> waiting = new ArrayList<>();
    for (int t : largestFirst) {
      int missing = missing(assignment, t);
      if (missing == 0) {
        continue;
      }
      if (missing < tables.get(t).columns()) {
        // Some parts stayed: the others have their shape, the last one what is left.
        int kept = assignment.shapeOfTable(t, 0);
        int width = costs.columns(kept);
        for (int left = missing; left > 0; left -= width) {
          int shape = left < width ? costs.shape(t, left) : kept;
          waiting.add(new WaitingPart(t, shape, costs.aloneMs(shape)));
        }
        continue;
      }
      if (options.of(t).isEmpty()) {
        return false;
      }
      Option way = choice.apply(t);
      if (way.scope() == ShardScope.DEVICE) {
        for (int shape : way.shapes()) {
          waiting.add(new WaitingPart(t, shape, costs.aloneMs(shape)));
        }
      } else if (!place(assignment, t, way)) {
        return false;
      }
    }
    waiting.sort(WaitingPart.MOST_EXPENSIVE_FIRST);
    double[] loadMs = new double[assignment.devices()];
    Arrays.setAll(loadMs, d -> loadMs(assignment, d));
    for (WaitingPart part : waiting) {
      int table = part.table();
      if (missing(assignment, table) == 0) {
        continue;
      }
      int device = bestDevice(assignment, loadMs, part);
      if (device >= 0) {
        assignment.edit(table, device, ShapeCosts.NONE, part.shape());
        loadMs[device] = loadMs(assignment, device);
      } else if (placeOtherwise(assignment, table)) {
        Arrays.setAll(loadMs, d -> loadMs(assignment, d));
      } else {
        return false;
      }
    }
    return true;
  }

  private Option way(List<Option> ways, double maxMs, double maxUnits, double msPerByte) {
    Option smallest = null;
    Option best = null;
    for (Option way : ways) {
      int largest = way.shapes()[0];
      boolean isSmall = costs.aloneMs(largest) <= maxMs && costs.allToAllUnits(largest) <= maxUnits;
      if ((way.scope() != ShardScope.DEVICE || isSmall)
          && (best == null || way.pricedMs(msPerByte) < best.pricedMs(msPerByte))) {
        best = way;
      }
      if (smallest == null || costs.aloneMs(largest) < costs.aloneMs(smallest.shapes()[0])) {
        smallest = way;
      }
    }
    return best == null ? smallest : best;
  }

  private int missing(Assignment assignment, int table) {
    return tables.get(table).columns() - assignment.placedColumns(table);
  }

  private double loadMs(Assignment assignment, int device) {
    return assignment.partsOfDevice(device) == 0
        ? 0
        : slowdowns.computeMs(device, evaluator.computeMs(assignment.towerSum(device)))
            + slowdowns.communicationMs(device, msPerUnit * assignment.allToAllUnits(device));
  }

  private int bestDevice(Assignment assignment, double[] loadMs, WaitingPart part) {
    int best = -1;
    for (int d = 0; d < loadMs.length; d++) {
      if (hasRoom(assignment, d, part.shape())
          && assignment.shape(part.table(), d) == ShapeCosts.NONE
          && isInNode(assignment, part.table(), d)
          && (best < 0 || loadMs[d] < loadMs[best])) {
        best = d;
      }
    }
    return best;
  }

  /** Returns whether a device is in the node of a table's parts, where that is asked for. */
  private boolean isInNode(Assignment assignment, int table, int device) {
    Places places = assignment.places();
    return !options.keepsPartsInNode(table)
        || assignment.shardsOfTable(table) == 0
        || places.nodeOf(assignment.place(table, 0)) == places.nodeOf(device);
  }

  /** Takes a table's parts away and shards it in the first way that finds room. */
  private boolean placeOtherwise(Assignment assignment, int table) {
    clear(assignment, table);
    for (Option way : options.of(table)) {
      if (place(assignment, table, way)) {
        return true;
      }
    }
    return false;
  }

  /** Takes all parts of a table away. */
  static void clear(Assignment assignment, int table) {
    while (assignment.shardsOfTable(table) > 0) {
      assignment.edit(
          table, assignment.place(table, 0), assignment.shapeOfTable(table, 0), ShapeCosts.NONE);
    }
  }

  /** Shards a table in one way, at the places with the least bytes; false if one lacks room. */
  private boolean place(Assignment assignment, int table, Option way) {
    Places places = assignment.places();
    int first = places.firstOf(way.scope());
    int end = first + places.countOf(way.scope());
    if (way.scope() != ShardScope.DEVICE || !options.keepsPartsInNode(table)) {
      return place(assignment, table, way, first, end);
    }
    for (int node = 0; node < places.nodes(); node++) {
      int place = places.ofNode(node);
      if (place(assignment, table, way, places.first(place), places.end(place))) {
        return true;
      }
    }
    return false;
  }

  private boolean place(Assignment assignment, int table, Option way, int first, int end) {
    for (int shape : way.shapes()) {
      int best = -1;
      for (int place = first; place < end; place++) {
        if (assignment.shape(table, place) == ShapeCosts.NONE
            && hasRoom(assignment, place, shape)
            && (best < 0 || bytes(assignment, place) < bytes(assignment, best))) {
          best = place;
        }
      }
      if (best < 0) {
        clear(assignment, table);
        return false;
      }
      assignment.edit(table, best, ShapeCosts.NONE, shape);
    }
    return true;
  }

  private static long bytes(Assignment assignment, int place) {
    return assignment.bytes(assignment.places().first(place));
  }

  private boolean hasRoom(Assignment assignment, int place, int shape) {
    return assignment.hasRoom(place, shape);
  }

  /** Returns the bytes of all parts that are at no place. */
  long unplacedBytes(Assignment assignment) {
    long bytes = 0;
    for (int t = 0; t < tables.size(); t++) {
      int missing = missing(assignment, t);
      bytes += missing == 0 ? 0 : tables.get(t).bytes(missing);
    }
    return bytes;
  }
}
