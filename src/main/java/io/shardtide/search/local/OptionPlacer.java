package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
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

  private final List<TableGroup> tables;
  private final ClusterSpec cluster;
  private final ShapeCosts costs;
  private final CostEvaluator evaluator;
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
      OptionEstimates estimates,
      TableOptions options) {
    this.tables = tables;
    this.cluster = cluster;
    this.costs = costs;
    this.evaluator = evaluator;
    this.options = options;
    msPerUnit = estimates.msPerUnit();
    for (int t = 0; t < tables.size(); t++) {
      largestFirst.add(t);
    }
    largestFirst.sort(
        Comparator.comparingLong((Integer t) -> -tables.get(t).bytes()).thenComparingInt(t -> t));
  }

  /**
   * Places everything that is at no place.
   *
   * @param assignment receives it
   * @param grain largest cost of a part, as a multiple of an even share of all costs
   * @param cap largest all-to-all load of a part, as a multiple of an even share of all loads
   * @return whether everything has found room; otherwise the assignment is incomplete
   */
  boolean place(Assignment assignment, double grain, double cap) {
    double maxUnits = cap * Math.max(1, costs.totalUnits()) / cluster.devices();
    return place(assignment, t -> way(options.of(t), grain * targetMs(), maxUnits));
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
          return way(allowed.isEmpty() ? options.of(t) : allowed, meanMs, Double.POSITIVE_INFINITY);
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
                ? options.of(t).stream().min(Comparator.comparingLong(Option::bytes)).orElseThrow()
                : way(options.of(t), targetMs(), Double.POSITIVE_INFINITY));
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
        int width = assignment.columnsOfTable(t, 0);
        for (int left = missing; left > 0; left -= width) {
          int shape = costs.shape(t, Math.min(left, width));
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

  private Option way(List<Option> ways, double maxMs, double maxUnits) {
    Option smallest = null;
    for (Option way : ways) {
      int largest = way.shapes()[0];
      boolean isSmall = costs.aloneMs(largest) <= maxMs && costs.allToAllUnits(largest) <= maxUnits;
      if (way.scope() != ShardScope.DEVICE || isSmall) {
        return way;
      }
      if (smallest == null || costs.aloneMs(largest) < costs.aloneMs(smallest.shapes()[0])) {
        smallest = way;
      }
    }
    return smallest;
  }

  private int missing(Assignment assignment, int table) {
    return tables.get(table).columns() - assignment.placedColumns(table);
  }

  private double loadMs(Assignment assignment, int device) {
    return assignment.partsOfDevice(device) == 0
        ? 0
        : evaluator.computeMs(assignment.towerSum(device))
            + msPerUnit * assignment.allToAllUnits(device);
  }

  private int bestDevice(Assignment assignment, double[] loadMs, WaitingPart part) {
    int best = -1;
    for (int d = 0; d < loadMs.length; d++) {
      if (hasRoom(assignment, d, part.shape())
          && (!options.areEqual(part.table())
              || assignment.shape(part.table(), d) == ShapeCosts.NONE)
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
    return assignment.hasRoom(place, shape, cluster.usableBytesPerDevice());
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

  /**
   * Removes parts from devices whose memory is exceeded: each time the smallest that is enough, or
   * else the largest. Parts on one device go before split ones, because less has to move.
   */
  void evict(Assignment assignment) {
    Places places = assignment.places();
    for (int d = 0; d < assignment.devices(); d++) {
      for (long over = over(assignment, d); over > 0; over = over(assignment, d)) {
        int place = occupied(assignment, d);
        int chosen = smallestOf(assignment, place, over);
        int table = assignment.table(place, chosen);
        if (places.scope(place) == ShardScope.DEVICE) {
          assignment.edit(table, place, assignment.shapeOfPlace(place, chosen), ShapeCosts.NONE);
        } else {
          clear(assignment, table);
        }
      }
    }
  }

  /** Returns the first place of a device, by scope, with a part. */
  private static int occupied(Assignment assignment, int device) {
    return Arrays.stream(ShardScope.values())
        .mapToInt(scope -> assignment.places().of(scope, device))
        .filter(place -> assignment.shardsOfPlace(place) > 0)
        .findFirst()
        .orElseThrow();
  }

  private long over(Assignment assignment, int device) {
    return assignment.bytes(device) - cluster.usableBytesPerDevice();
  }

  /** Returns the smallest part of a place with so many bytes, or else the largest. */
  private int smallestOf(Assignment assignment, int place, long least) {
    int chosen = 0;
    for (int i = 1; i < assignment.shardsOfPlace(place); i++) {
      long bytes = costs.load(assignment.shapeOfPlace(place, i)).bytes();
      long best = costs.load(assignment.shapeOfPlace(place, chosen)).bytes();
      boolean isBetter = best >= least ? bytes >= least && bytes < best : bytes > best;
      chosen = isBetter ? i : chosen;
    }
    return chosen;
  }
}
