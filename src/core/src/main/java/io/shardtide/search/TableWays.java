package io.shardtide.search;

import io.shardtide.cost.BufferCollective;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.StepCollective;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.TablePrediction;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.search.problem.PartMemory;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The ways to shard each table of a problem, computed when a table's are first needed. The costs of
 * a way are computed once, which counts as one evaluation.
 */
final class TableWays {
  /**
   * Ways that take so many times as long as the best one, with all devices equally loaded, are left
   * out. Estimates leave out what a search is there for, balance and memory.
   */
  private static final double WORST = 4;

  /** A table of this share of the smallest device's memory may be split whatever it costs. */
  private static final double LARGE = 0.125;

  /** A table of so many bytes may be copied whatever it costs: other tables may be, too. */
  private static final long SMALL_BYTES = 1 << 22;

  /** Bytes at which collectives are as fast as they get. */
  private static final double LARGE_BYTES = 1L << 26;

  private final List<TableGroup> tables;
  private final ClusterSpec cluster;
  private final PartMemory memory;
  private final CostEvaluator evaluator;
  private final LoadUnits units;
  private final Places places;
  private final List<StepCollective> collectives;

  /** Milliseconds of both all-to-alls for each unit of a device's load. */
  final double msPerUnit;

  private final double msPerUnitBetweenNodes;
  private final List<OfTable> ofTables;

  /** Tables that may be cached, by position. */
  final int[] cacheable;

  /** The ways of one table. */
  private static final class OfTable {
    final List<Option> options;

    /** Every way that was ever asked for. */
    final Map<Option, Way> known = new HashMap<>();

    /** Those that a search tries, the ones with the least work first; null until needed. */
    Way[] ways;

    /** The way whose parts take the least memory of a device; null if none fits. */
    Way smallest;

    /** Whether one way fits. */
    boolean isOnly;

    OfTable(List<Option> options) {
      this.options = options;
    }

    boolean isCacheable() {
      return options.stream().anyMatch(o -> o.hasAllRows() && o.part().cacheShare().isPresent());
    }
  }

  TableWays(
      List<TableGroup> tables,
      ClusterSpec cluster,
      CostEvaluator evaluator,
      LoadUnits units,
      Places places,
      Communication communication) {
    this.tables = tables;
    this.cluster = cluster;
    memory = new PartMemory(cluster);
    this.evaluator = evaluator;
    this.units = units;
    this.places = places;
    collectives = StepCollectives.of(cluster).all();
    int even = Math.max(1, units.total() / cluster.devices());
    msPerUnit = communication.evenAllToAllsMs(ShardScope.DEVICE, even, units.total()) / even;
    int ofNode = Math.max(1, units.totalOfNodes() / places.nodes);
    msPerUnitBetweenNodes =
        communication.evenAllToAllsMs(ShardScope.NODE, ofNode, units.totalOfNodes()) / ofNode;
    ofTables = new ArrayList<>();
    Set<String> names = new HashSet<>();
    tables.forEach(group -> group.tables().forEach(t -> names.add(t.table().name())));
    for (int t = 0; t < tables.size(); t++) {
      ofTables.add(new OfTable(tables.get(t).options(cluster)));
      addToAll(t, names);
    }
    cacheable =
        IntStream.range(0, memory.hasHost() ? tables.size() : 0)
            .filter(t -> ofTables.get(t).isCacheable())
            .toArray();
  }

  /**
   * Adds what all devices may have of a table: hot rows, if no other table has their name, and the
   * deduplication of its ids.
   */
  private void addToAll(int table, Set<String> names) {
    TablePrediction first = tables.get(table).tables().get(0);
    if (tables.get(table).mayBeDeduplicated()) {
      Option ofIds =
          new Option(0, true, new TablePart(ShardScope.COPIES, tables.get(table).columns()));
      ofTables.get(table).known.put(ofIds, way(table, ofIds, null));
    }
    for (Option option : first.towers().keySet()) {
      if (option.isAddition()
          && !tables.get(table).isShared()
          && !names.contains(first.table(option).name())) {
        ofTables.get(table).known.put(option, way(table, option, null));
      }
    }
  }

  /**
   * Returns the ways to shard a table that a search tries, those with the least work first; must
   * not be changed.
   */
  Way[] of(int table) {
    OfTable of = ofTables.get(table);
    if (of.ways == null) {
      List<Way> fitting = fitting(table);
      double best =
          fitting.stream().mapToDouble(way -> way.workMs).min().orElse(Double.POSITIVE_INFINITY);
      long bytes = tables.get(table).bytes();
      List<Way> plausible =
          fitting.stream()
              .filter(way -> isPlausible(way, fitting, best, bytes))
              .sorted(Comparator.comparingDouble(way -> way.workMs))
              .toList();
      linkCaches(plausible);
      of.smallest = fitting.stream().min(Comparator.comparingLong(Way::bytes)).orElse(null);
      of.isOnly = fitting.size() == 1;
      of.ways = plausible.toArray(Way[]::new);
    }
    return of.ways;
  }

  private boolean isPlausible(Way way, List<Way> others, double best, long bytes) {
    if (way.isCached()) {
      return isWorthItsBytes(way, others);
    }
    if (way.workMs <= WORST * best) {
      return true;
    }
    return way.onAll == null
        && (way.scope == ShardScope.COPIES ? bytes <= SMALL_BYTES : bytes > LARGE * memory.least());
  }

  /** Returns whether no other way of the same rows has less work and at most as many bytes. */
  private static boolean isWorthItsBytes(Way way, List<Way> others) {
    return others.stream()
        .noneMatch(
            other ->
                other.option.firstRow() == way.option.firstRow()
                    && other.workMs < way.workMs
                    && other.totalBytes <= way.totalBytes);
  }

  private List<Way> fitting(int table) {
    TableGroup group = tables.get(table);
    return ofTables.get(table).options.stream()
        .filter(option -> mayHave(table, option) && group.allows(option.part(), cluster))
        .map(option -> known(table, option))
        .filter(this::fits)
        .toList();
  }

  /** Returns whether all devices may have of a table what an option has on all. */
  private boolean mayHave(int table, Option option) {
    return option.onAll(tables.get(table).columns()).isEmpty() || onAll(table, option) != null;
  }

  private Way onAll(int table, Option option) {
    return option
        .onAll(tables.get(table).columns())
        .map(ofTables.get(table).known::get)
        .orElse(null);
  }

  private boolean fits(Way way) {
    long ofAll = way.onAll == null ? 0 : way.onAll.load.bytes();
    return memory.holds(way.memory, way.scope, way.parts) && ofAll <= memory.least();
  }

  private Way known(int table, Option option) {
    Way onAll = onAll(table, option);
    return ofTables.get(table).known.computeIfAbsent(option, o -> way(table, o, onAll));
  }

  /** Returns a way, also one that a search would not try; null if it was not predicted. */
  Way find(int table, Option option) {
    return mayHave(table, option) && tables.get(table).isPredicted(option, cluster)
        ? known(table, option)
        : null;
  }

  private Way way(int table, Option option, Way onAll) {
    TableGroup group = tables.get(table);
    ShapeLoad load = ShapeLoad.sum(group.loads(option, evaluator, cluster));
    Way way =
        new Way(
            table,
            option,
            group.keepsPartsInNode(),
            option.part().count(group.columns()),
            load,
            onAll,
            units,
            load.tower().length / evaluator.launchGroups(),
            evaluator.computeMs(load.tower()));
    way.workMs = workMs(way) * way.parts;
    way.totalBytes = (double) load.bytes() * way.parts * way.scope.devices(cluster);
    if (onAll != null) {
      way.workMs += onAll.workMs;
      way.totalBytes += onAll.totalBytes;
    }
    return way;
  }

  /** Links each cached way with those that differ in nothing but the size of the cache. */
  private static void linkCaches(List<Way> ways) {
    Map<Option, List<Way>> bySize =
        ways.stream().collect(Collectors.groupingBy(way -> way.option.withoutCache()));
    for (List<Way> same : bySize.values()) {
      same.sort(Comparator.comparingDouble(way -> way.part.cacheShare().orElse(2)));
      for (int i = 1; i < same.size(); i++) {
        same.get(i).lessCache = same.get(i - 1);
        same.get(i - 1).moreCache = same.get(i);
      }
    }
  }

  /**
   * Returns the way to shard a table whose parts take the least memory of a device, whatever it
   * costs; the table must have a way.
   */
  Way smallest(int table) {
    of(table);
    return ofTables.get(table).smallest;
  }

  /** Returns whether each table has one way to be sharded, with equal parts at all its places. */
  boolean areFixed() {
    return IntStream.range(0, tables.size()).allMatch(this::isFixed);
  }

  private boolean isFixed(int table) {
    Way[] ways = of(table);
    return ways.length > 0
        && ofTables.get(table).isOnly
        && ways[0].parts == places.countOf(ways[0].scope);
  }

  /**
   * Returns the milliseconds that a part adds to a step whose devices are equally loaded: its
   * computation, and its share of collectives, at the rate of large ones.
   */
  private double workMs(Way way) {
    double ms =
        way.aloneMs
            + rateMs(way.scope, way.load.elements(way.scope))
            + msPerUnit * way.units
            + msPerUnitBetweenNodes * way.nodeUnits;
    int size = way.scope.devices(cluster);
    return size == cluster.devices() ? ms : ms * size / cluster.devices();
  }

  /** Returns the time of numbers that are added to the large buffers of a scope. */
  private double rateMs(ShardScope scope, double elements) {
    double ms = 0;
    for (Direction direction : Direction.values()) {
      StepCollective of = collectives.get(StepCollectives.number(scope, direction));
      ms += of.buffer(elements).map(added -> rateMs(added, of.group(0))).orElse(0.0);
    }
    return ms;
  }

  private double rateMs(BufferCollective added, DeviceGroup group) {
    return largeMs(added, added.bytes(), group) - largeMs(added, 0, group);
  }

  private double largeMs(BufferCollective kind, double added, DeviceGroup group) {
    return evaluator.bufferMs(
        new BufferCollective(kind.collective(), kind.direction(), LARGE_BYTES + added), group);
  }
}
