package io.shardtide.search;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.Slowdowns;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.IntToDoubleFunction;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * Places tables in one of their {@link TableWays ways}: the start of a local search where parts are
 * of equal width, or tables may be split.
 *
 * <p>Each table is sharded in the way with the least work whose parts are small enough; split
 * tables go first, and then the parts on single devices, the most expensive one first, to the
 * device with the smallest load that has room. A table that finds no room is sharded in the next
 * way.
 */
final class Placer {
  /** Largest costs of a part, as multiples of an even share of all costs. */
  static final double[] GRAINS = {1, 0.7, 0.5, 0.35, 0.25, 1.4, 2, 2.8};

  /** Shares of all device memory that tables may take by their bytes: devices are not filled. */
  private static final double[] FILLS = {1, 0.97, 0.94, 0.9, 0.8};

  /** Prices of a byte below and above all that matter, and steps between them. */
  private static final double LEAST_MS_PER_BYTE = 1e-16;

  private static final double MOST_MS_PER_BYTE = 1e-3;
  private static final int PRICES = 40;

  private static final Comparator<Way> MOST_EXPENSIVE_FIRST =
      Comparator.comparingDouble((Way part) -> part.aloneMs)
          .reversed()
          .thenComparingInt(part -> part.table);

  private final List<TableGroup> tables;
  private final ClusterSpec cluster;
  private final CostEvaluator evaluator;
  private final Slowdowns slowdowns;
  private final TableWays ways;
  private final double[] sum;
  private double targetMs = Double.NaN;

  /** Tables by the bytes of all their rows, the largest first. */
  private final List<Integer> largestFirst;

  /** Tables that may be copied or not, those first whose work grows the least if they are. */
  private List<Integer> copiedFirst;

  /** The ways of each table as a copy, and all others; see {@link #allowed}. */
  private Way[][] asCopies;

  private Way[][] asOthers;

  Placer(
      List<TableGroup> tables,
      ClusterSpec cluster,
      CostEvaluator evaluator,
      Slowdowns slowdowns,
      TableWays ways) {
    this.tables = tables;
    this.cluster = cluster;
    this.evaluator = evaluator;
    this.slowdowns = slowdowns;
    this.ways = ways;
    sum = new double[evaluator.sumSize()];
    largestFirst =
        IntStream.range(0, tables.size())
            .boxed()
            .sorted(Comparator.comparingLong(t -> -tables.get(t).bytes()))
            .toList();
  }

  /**
   * Places everything.
   *
   * @param state receives it; what it has is taken away
   * @param grain largest cost of a part, as a multiple of an even share of all costs
   * @param cap largest all-to-all load of a part, as a multiple of an even share of all loads
   * @return whether everything has found room; otherwise the state is incomplete
   */
  boolean spread(State state, double grain, double cap) {
    return spread(state, grain, cap, ways::of);
  }

  /**
   * Places everything, some tables copied and all others not, where they have such ways: an
   * all-to-all gets shorter only when several tables leave it.
   *
   * @param copied share of the tables that are copied, those whose work grows the least by it
   */
  boolean spread(State state, double grain, double cap, double copied) {
    if (copiedFirst == null) {
      rankCopies();
    }
    Set<Integer> copies =
        new HashSet<>(copiedFirst.subList(0, (int) Math.round(copied * copiedFirst.size())));
    return spread(state, grain, cap, t -> (copies.contains(t) ? asCopies : asOthers)[t]);
  }

  private void rankCopies() {
    asCopies = new Way[tables.size()][];
    asOthers = new Way[tables.size()][];
    double[] moreMs = new double[tables.size()];
    copiedFirst = new ArrayList<>();
    for (int t = 0; t < moreMs.length; t++) {
      asCopies[t] = allowed(t, scope -> scope == ShardScope.COPIES);
      asOthers[t] = allowed(t, scope -> scope != ShardScope.COPIES);
      int all = ways.of(t).length;
      // One of them is all ways if there are none of its kind.
      if (all > 0 && asCopies[t].length + asOthers[t].length == all) {
        moreMs[t] = asCopies[t][0].workMs - asOthers[t][0].workMs;
        copiedFirst.add(t);
      }
    }
    copiedFirst.sort(Comparator.comparingDouble((Integer t) -> moreMs[t]).thenComparingInt(t -> t));
  }

  /** Returns the ways of a table in some scopes, or all if it has none there. */
  private Way[] allowed(int table, Predicate<ShardScope> isAllowed) {
    Way[] some =
        Arrays.stream(ways.of(table)).filter(way -> isAllowed.test(way.scope)).toArray(Way[]::new);
    return some.length == 0 ? ways.of(table) : some;
  }

  private boolean spread(State state, double grain, double cap, IntFunction<Way[]> allowed) {
    Way[][] of = new Way[tables.size()][];
    Arrays.setAll(of, allowed);
    int units = 0;
    for (Way[] ofTable : of) { // A way on all devices has no load of any.
      units += Arrays.stream(ofTable).mapToInt(way -> way.units * way.parts).max().orElse(0);
    }
    double maxUnits = cap * Math.max(1, units) / cluster.devices();
    double maxMs = grain * targetMs();
    for (double fill : FILLS) {
      // Of the attempt before.
      IntStream.range(0, tables.size()).forEach(state::clear);
      double msPerByte = msPerByte(of, maxMs, maxUnits, fill * cluster.usableBytes());
      if (placeAll(state, t -> way(of[t], maxMs, maxUnits, msPerByte))) {
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
  private double msPerByte(Way[][] of, double maxMs, double maxUnits, double bytes) {
    if (bytesAt(of, 0, maxMs, maxUnits) <= bytes) {
      return 0;
    }
    double low = StrictMath.log(LEAST_MS_PER_BYTE);
    double high = StrictMath.log(MOST_MS_PER_BYTE);
    for (int i = 0; i < PRICES; i++) {
      double middle = (low + high) / 2;
      if (bytesAt(of, StrictMath.exp(middle), maxMs, maxUnits) <= bytes) {
        high = middle;
      } else {
        low = middle;
      }
    }
    return StrictMath.exp(high);
  }

  private double bytesAt(Way[][] of, double msPerByte, double maxMs, double maxUnits) {
    double bytes = 0;
    for (int t = 0; t < tables.size(); t++) {
      if (of[t].length > 0) {
        bytes += way(of[t], maxMs, maxUnits, msPerByte).totalBytes;
      }
    }
    return bytes;
  }

  /**
   * Places what is at no place of a running plan, in parts that cost at most as much as a device on
   * average.
   *
   * @param state receives it
   * @param isAllowed where rows may be, if the table has such a way
   * @return whether everything has found room; otherwise the state is incomplete
   */
  boolean complete(State state, Predicate<ShardScope> isAllowed) {
    double meanMs =
        IntStream.range(0, cluster.devices()).mapToDouble(d -> loadMs(state, d)).sum()
            / cluster.devices();
    return placeAll(state, t -> way(allowed(t, isAllowed), meanMs, Double.POSITIVE_INFINITY, 0));
  }

  /** Returns an even share of all costs, in milliseconds. */
  private double targetMs() {
    if (Double.isNaN(targetMs)) {
      targetMs =
          IntStream.range(0, tables.size())
              .mapToDouble(
                  t -> Arrays.stream(ways.of(t)).mapToDouble(way -> way.workMs).min().orElse(0))
              .sum();
    }
    return targetMs;
  }

  /** Places everything, copied where tables may be; see {@link #spread(State, double, double)}. */
  boolean placeCopies(State state) {
    return placeAll(state, t -> allowed(t, scope -> scope == ShardScope.COPIES)[0]);
  }

  /**
   * Places everything, some tables in the way that takes the least memory of a device.
   *
   * @param small how many tables, the largest ones
   */
  boolean placeSmall(State state, int small) {
    Set<Integer> smallest = new HashSet<>(largestFirst.subList(0, Math.min(small, tables.size())));
    return placeAll(
        state,
        t ->
            smallest.contains(t)
                ? ways.smallest(t)
                : way(ways.of(t), targetMs(), Double.POSITIVE_INFINITY, 0));
  }

  /** How {@link #pack} chooses among devices with room. */
  enum PlacementStrategy {
    /** The first. */
    FIRST(0),
    /** The one with the least room. */
    BEST(1),
    /** The one with the most room. */
    WORST(-1);

    private final int sign;

    PlacementStrategy(int sign) {
      this.sign = sign;
    }
  }

  /**
   * Packs all tables by bytes alone, each in the way that takes the least memory of a device, or in
   * another one if that finds no room: those with the largest parts first.
   *
   * @param state receives everything; empty
   * @param strategy how to choose among devices
   * @param disorder 0 for the order by size; larger values shuffle it more
   * @param random shuffles
   * @return whether everything has found room; otherwise the state is incomplete
   */
  boolean pack(State state, PlacementStrategy strategy, double disorder, SeededRandom random) {
    Integer[] order = new Integer[tables.size()];
    double[] key = new double[order.length];
    for (int t = 0; t < order.length; t++) {
      if (ways.of(t).length == 0) {
        return false;
      }
      order[t] = t;
      key[t] = ways.smallest(t).bytes() * (1 + disorder * random.exponential());
    }
    // A stable sort: of equal tables, the first one comes first.
    Arrays.sort(order, Comparator.comparingDouble((Integer t) -> -key[t]));
    boolean fit = true;
    for (int t : order) {
      Way way = ways.smallest(t);
      fit &=
          way.scope == ShardScope.DEVICE ? packInAnyWay(state, way, strategy) : placeAt(state, way);
    }
    return fit;
  }

  /**
   * Packs a table in one way, or in the first other one that finds room: fewer and larger parts may
   * do on few devices with much room.
   */
  private boolean packInAnyWay(State state, Way way, PlacementStrategy strategy) {
    if (pack(state, way, strategy) || placeOtherwise(state, way.table)) {
      return true;
    }
    // The parts that find room: the others are missing.
    pack(state, way, strategy);
    return false;
  }

  private boolean pack(State state, Way way, PlacementStrategy strategy) {
    return fill(state, way, 0, state.devices, d -> strategy.sign * (double) state.room(d));
  }

  private boolean placeAll(State state, IntFunction<Way> choice) {
    List<Way> waiting = new ArrayList<>();
    for (int t : largestFirst) {
      if (state.isComplete(t)) {
        continue;
      }
      // Some parts may be kept: the missing ones get the same way.
      Way way = state.way[t];
      if (way == null) {
        if (ways.of(t).length == 0) {
          return false;
        }
        way = choice.apply(t);
      }
      if (way.scope != ShardScope.DEVICE) {
        if (!placeAt(state, way)) {
          return false;
        }
        continue;
      }
      for (int i = state.count[t]; i < way.parts; i++) {
        waiting.add(way);
      }
    }
    waiting.sort(MOST_EXPENSIVE_FIRST);
    double[] loadMs = new double[state.devices];
    Arrays.setAll(loadMs, d -> loadMs(state, d));
    for (Way part : waiting) {
      int table = part.table;
      if (state.isComplete(table)) {
        continue;
      }
      int device = best(state, part, 0, loadMs);
      if (device >= 0) {
        boolean isAlone = part.onAll == null || state.count[table] > 0;
        state.add(table, part, device);
        if (isAlone) {
          loadMs[device] = loadMs(state, device);
          continue;
        }
      } else if (!placeOtherwise(state, table)) {
        return false;
      }
      Arrays.setAll(loadMs, d -> loadMs(state, d));
    }
    return true;
  }

  private Way way(Way[] of, double maxMs, double maxUnits, double msPerByte) {
    Way smallest = null;
    Way best = null;
    for (Way way : of) {
      boolean isSmall =
          way.scope != ShardScope.DEVICE || (way.aloneMs <= maxMs && way.units <= maxUnits);
      if (isSmall && (best == null || way.pricedMs(msPerByte) < best.pricedMs(msPerByte))) {
        best = way;
      }
      if (smallest == null || way.aloneMs < smallest.aloneMs) {
        smallest = way;
      }
    }
    return best == null ? smallest : best;
  }

  private double loadMs(State state, int device) {
    if (state.parts[device] == 0) {
      return 0;
    }
    System.arraycopy(state.sums, device * sum.length, sum, 0, sum.length);
    return slowdowns.computeMs(device, evaluator.computeMs(sum))
        + slowdowns.communicationMs(device, ways.msPerUnit * state.units[device]);
  }

  /**
   * Returns which place from a first one on has room for another part, and the smallest value; of
   * equal ones the first, -1 if there is none.
   */
  private int best(State state, Way way, int first, double[] values) {
    int best = -1;
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < values.length; i++) {
      if ((best < 0 || values[i] < least)
          && state.mayAdd(way.table, way, first + i)
          && isInNode(state, way, first + i)) {
        best = first + i;
        least = values[i];
      }
    }
    return best;
  }

  /** Adds the missing parts of a table at the best places; returns whether all have found room. */
  private boolean fill(State state, Way way, int first, int end, IntToDoubleFunction value) {
    // A part takes room from its own place only, or as much from all.
    double[] values = new double[end - first];
    Arrays.setAll(values, i -> value.applyAsDouble(first + i));
    for (int i = state.count[way.table]; i < way.parts; i++) {
      int place = best(state, way, first, values);
      if (place < 0) {
        return false;
      }
      state.add(way.table, way, place);
    }
    return true;
  }

  /** Returns whether a place is in the node of a table's parts, where that is asked for. */
  private boolean isInNode(State state, Way way, int place) {
    Places places = state.places;
    return !way.isInOneNode
        || state.count[way.table] == 0
        || places.nodeOf[state.at[way.table][0]] == places.nodeOf[place];
  }

  /** Takes a table's parts away and shards it in the first way that finds room. */
  private boolean placeOtherwise(State state, int table) {
    state.clear(table);
    return Arrays.stream(ways.of(table)).anyMatch(way -> placeAt(state, way));
  }

  /** Shards a table in one way, at the places with the most room; false if one lacks it. */
  private boolean placeAt(State state, Way way) {
    Places places = state.places;
    for (int range = 0; range < (way.isInOneNode ? places.nodes : 1); range++) {
      int node = places.ofNode(range);
      int first = way.isInOneNode ? places.first[node] : places.firstOf(way.scope);
      int end = way.isInOneNode ? places.end[node] : first + places.countOf(way.scope);
      if (fill(state, way, first, end, place -> -(double) state.room(places.first[place]))) {
        return true;
      }
      state.clear(way.table);
    }
    return false;
  }

  /** Returns the bytes of all parts that are at no place. */
  long unplacedBytes(State state) {
    long bytes = 0;
    for (int t = 0; t < tables.size(); t++) {
      if (!state.isComplete(t)) {
        TableGroup table = tables.get(t);
        Way way = state.way[t];
        int placed = way == null ? 0 : (int) ((long) table.columns() * state.count[t] / way.parts);
        bytes += table.bytes(table.columns() - placed);
      }
    }
    return bytes;
  }
}
