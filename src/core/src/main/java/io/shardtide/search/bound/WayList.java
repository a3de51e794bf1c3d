package io.shardtide.search.bound;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.TablePrediction;
import io.shardtide.option.Option;
import io.shardtide.search.bound.CommunicationFloor.Line;
import io.shardtide.search.problem.PartMemory;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** The ways of all tables in arrays, table by table, and what each costs at some prices. */
final class WayList {
  private static final int DEVICE = Scopes.number(ShardScope.DEVICE);

  private final ClusterSpec cluster;
  private final PartMemory memory;
  private final CostEvaluator evaluator;
  final List<double[]> towers = new ArrayList<>();
  private final List<Integer> owners = new ArrayList<>();
  private int owner;

  final TableWay[] ways;

  /** The first way after those of each table. */
  final int[] ends;

  /** Which ways a plan may have. */
  boolean[] isActive;

  /** Mean weight that a way adds to a device. */
  private final double[] weights;

  /**
   * Milliseconds that it adds to other collectives than all-to-alls, and what depends on the mean.
   */
  private final double[] otherMs;

  // By scope.
  private final double[] fewest = new double[Scopes.COUNT];
  private final double[] most = new double[Scopes.COUNT];

  WayList(List<TableGroup> tables, ClusterSpec cluster, CostEvaluator evaluator) {
    this.cluster = cluster;
    this.evaluator = evaluator;
    memory = new PartMemory(cluster);
    ends = new int[tables.size()];
    List<TableWay> all = new ArrayList<>();
    for (int t = 0; t < ends.length; t++) {
      add(all, tables.get(t));
      ends[t] = all.size();
    }
    ways = all.toArray(TableWay[]::new);
    isActive = new boolean[ways.length];
    Arrays.fill(isActive, true);
    weights = new double[ways.length];
    otherMs = new double[ways.length];
    Arrays.setAll(fewest, this::fewest);
    Arrays.setAll(most, this::most);
  }

  /** Adds all ways to shard a table that a plan may have, and perhaps more. */
  private void add(List<TableWay> ways, TableGroup group) {
    Optional<Option> onAll = Optional.empty();
    Optional<TableWay> ofAll = Optional.of(TableWay.NOTHING);
    owner++;
    for (Option option : group.options(cluster)) {
      Optional<Option> more = option.onAll(group.columns());
      if (!more.equals(onAll)) {
        onAll = more;
        owner++;
        ofAll = more.flatMap(of -> way(group, of));
        owner++;
      }
      if (group.allows(option.part(), cluster)) {
        Optional<TableWay> way = way(group, option);
        ofAll.flatMap(all -> way.map(all::with)).ifPresent(ways::add);
      }
    }
  }

  /**
   * Returns a way to shard a table, or what all devices have of it; empty if a part is too large.
   */
  private Optional<TableWay> way(TableGroup group, Option option) {
    ShardScope scope = option.part().scope();
    int count = option.part().count(group.columns());
    int devices = scope.devices(cluster);
    List<ShapeLoad> loads = group.loads(option, evaluator, cluster);
    ShapeLoad load = ShapeLoad.sum(loads);
    double bytes = 0;
    for (int t = 0; t < loads.size(); t++) {
      TablePrediction table = group.tables().get(t);
      Option own = group.of(option, table.table());
      TableSpec spec = table.table(own);
      // The last device of a split part may have fewer rows than the others.
      double rows = spec.rows() * (scope == ShardScope.COPIES ? devices : 1.0);
      double held = (double) own.part().rows(spec, cluster) * devices;
      double share = rows * spec.columns() / (held * own.part().columns() * count);
      bytes += Math.max(0, count * (share * loads.get(t).bytes() * devices - devices));
    }
    if (!memory.holds(load.memory(), scope, count)) {
      return Optional.empty();
    }
    double[] elements = new double[Scopes.COUNT];
    int scopes = 0;
    for (ShardScope of : load.elements().keySet()) {
      int places = devices / of.devices(cluster);
      elements[Scopes.number(of)] = load.elements(of) * count * places / of.places(cluster);
      // Without lookups, nothing is sent.
      scopes |= load.elements(of) > 0 ? Scopes.set(of) : 0;
    }
    towers.add(load.tower());
    owners.add(owner);
    return Optional.of(
        new TableWay(
            new int[] {towers.size() - 1}, new int[] {count * devices}, elements, scopes, bytes));
  }

  /**
   * Returns a number of what each part is a part of: a device has no two parts of the same number.
   */
  int[] owners() {
    return owners.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Returns the fewest elements of a scope that a plan has which has any. */
  double fewest(ShardScope scope) {
    return fewest[Scopes.number(scope)];
  }

  private double fewest(int s) {
    return Arrays.stream(ways)
        .mapToDouble(way -> way.elements()[s])
        .filter(elements -> elements > 0)
        .min()
        .orElse(Double.POSITIVE_INFINITY);
  }

  /** Returns the most elements of a scope that a plan has. */
  double most(ShardScope scope) {
    return most[Scopes.number(scope)];
  }

  private double most(int s) {
    return IntStream.range(0, ends.length)
        .mapToDouble(t -> ofTable(t).mapToDouble(w -> ways[w].elements()[s]).max().orElse(0))
        .reduce(0, Double::sum);
  }

  int tables() {
    return ends.length;
  }

  /** Returns the first way of a table. */
  int first(int table) {
    return table == 0 ? 0 : ends[table - 1];
  }

  private IntStream ofTable(int table) {
    return IntStream.range(first(table), ends[table]);
  }

  /** Returns the scopes of all ways, as bits. */
  int scopes() {
    int scopes = 0;
    for (int w = 0; w < ways.length; w++) {
      scopes |= isActive[w] ? ways[w].scopes() : 0;
    }
    return scopes;
  }

  /** Returns whether each table has a way. */
  boolean areAllActive() {
    return IntStream.range(0, ends.length).allMatch(t -> ofTable(t).anyMatch(w -> isActive[w]));
  }

  /** Returns which parts the ways have. */
  boolean[] parts(int count) {
    boolean[] isThere = new boolean[count];
    for (int w = 0; w < ways.length; w++) {
      for (int i = 0; isActive[w] && i < ways[w].parts().length; i++) {
        isThere[ways[w].parts()[i]] = true;
      }
    }
    return isThere;
  }

  /**
   * Sets what ways cost.
   *
   * @param meanSlope milliseconds for each element of the mean all-to-all load
   */
  void price(ComputeFloor compute, Line[] lines, double meanSlope, int devices) {
    for (int w = 0; w < ways.length; w++) {
      if (isActive[w]) {
        TableWay way = ways[w];
        double weight = 0;
        double ms = meanSlope * way.elements()[DEVICE];
        for (int i = 0; i < way.parts().length; i++) {
          double share = way.devices()[i] / (double) devices;
          weight += share * compute.weights[way.parts()[i]];
          ms += share * compute.copyMs[way.parts()[i]];
        }
        for (int s = 0; s < Scopes.COUNT; s++) {
          ms += lines[s].msPerElement() * way.elements()[s];
        }
        weights[w] = weight;
        otherMs[w] = ms;
      }
    }
  }

  /**
   * Prices.
   *
   * @param load weight for an element of all-to-all load
   * @param other weight for a millisecond of other collectives, a position in {@link
   *     StepFloor#OTHER_PRICES}
   * @param memory weight for a byte
   */
  record Prices(double load, int other, double memory) {}

  /** Returns what a way costs. */
  double price(int w, Prices prices) {
    return weights[w]
        + prices.load() * ways[w].elements()[DEVICE]
        + StepFloor.OTHER_PRICES[prices.other()] * otherMs[w]
        + prices.memory() * ways[w].bytes();
  }

  /** Returns the least price of each table, for each set of scopes that a way needs. */
  double[] leastPrices(Prices prices) {
    double[] least = new double[ends.length * Scopes.SETS];
    Arrays.fill(least, Double.POSITIVE_INFINITY);
    for (int t = 0; t < ends.length; t++) {
      for (int w = first(t); w < ends[t]; w++) {
        if (isActive[w]) {
          int at = t * Scopes.SETS + ways[w].scopes();
          least[at] = Math.min(least[at], price(w, prices));
        }
      }
    }
    return least;
  }

  /** Returns the way with the least price of each table that has one. */
  int[] cheapest(Prices prices) {
    int[] cheapest = new int[ends.length];
    for (int t = 0; t < ends.length; t++) {
      double least = Double.POSITIVE_INFINITY;
      cheapest[t] = first(t);
      for (int w = first(t); w < ends[t]; w++) {
        if (isActive[w] && price(w, prices) < least) {
          least = price(w, prices);
          cheapest[t] = w;
        }
      }
    }
    return cheapest;
  }
}
