package io.shardtide.search.local;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.ShapeCosts;
import io.shardtide.search.TableGroup;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.IntStream;

/**
 * The ways to shard each table of a problem: in how many column parts of equal width, and where
 * their rows are.
 */
final class TableOptions {
  /**
   * Ways that take so many times as long as the best one, with all devices equally loaded, are left
   * out. Estimates leave out what a search is there for, balance and memory.
   */
  private static final double WORST = 4;

  /** A table of this share of a device's memory may be split whatever it costs. */
  private static final double LARGE = 0.125;

  /** A table of so many bytes may be copied whatever it costs: other tables may be, too. */
  private static final long SMALL_BYTES = 1 << 22;

  private final List<TableGroup> tables;
  private final ClusterSpec cluster;
  private final ShapeCosts costs;
  private final OptionEstimates estimates;

  /** The ways of each table, once they are needed. */
  private final List<List<Option>> ofTable;

  /** The way of each table whose parts take the least memory, once the ways are needed. */
  private final List<Option> smallest;

  private final boolean[] keepsPartsInNode;

  /** Whether a table has one way that fits, once the ways are needed. */
  private final boolean[] isOnly;

  private final int[] cacheable;

  /**
   * A way to shard a table.
   *
   * @param scope where the rows of its parts are
   * @param cacheShare share of the rows that device memory holds; empty if all
   * @param shapes the shape of each part
   * @param workMs estimated milliseconds of a step, if the same work is on all devices
   * @param bytes bytes on each device of the largest part
   * @param totalBytes bytes on all devices of all parts
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  record Option(
      ShardScope scope,
      OptionalDouble cacheShare,
      int[] shapes,
      double workMs,
      long bytes,
      double totalBytes) {

    /** Returns the cost with a price for each byte of device memory. */
    double pricedMs(double msPerByte) {
      return workMs + msPerByte * totalBytes;
    }
  }

  TableOptions(
      List<TableGroup> tables, ClusterSpec cluster, ShapeCosts costs, OptionEstimates estimates) {
    this.tables = tables;
    this.cluster = cluster;
    this.costs = costs;
    this.estimates = estimates;
    ofTable = new ArrayList<>(Collections.nCopies(tables.size(), null));
    smallest = new ArrayList<>(Collections.nCopies(tables.size(), null));
    keepsPartsInNode = new boolean[tables.size()];
    isOnly = new boolean[tables.size()];
    for (int t = 0; t < tables.size(); t++) {
      keepsPartsInNode[t] = tables.get(t).keepsPartsInNode();
    }
    cacheable = IntStream.range(0, tables.size()).filter(this::isCached).toArray();
  }

  /** Returns whether a table may be cached. */
  private boolean isCached(int table) {
    int first = costs.firstPart(table);
    return IntStream.range(first, first + costs.parts(table)).anyMatch(costs::isCached);
  }

  private void addColumns(List<Option> options, TableGroup table, int t) {
    int most = table.maxColumnParts(cluster);
    for (int count = 1; count <= most; count++) {
      if (!table.isDivisible(count)) {
        continue;
      }
      if (table.isConstrained() && !table.allows(ShardScope.DEVICE, count, cluster)) {
        continue;
      }
      int[] shapes = new int[count];
      Arrays.fill(shapes, costs.shape(t, table.columns() / count));
      options.add(option(ShardScope.DEVICE, shapes));
    }
  }

  private void addParts(List<Option> options, TableGroup table, int t) {
    int first = costs.firstPart(t);
    for (int shape = first; shape < first + costs.parts(t); shape++) {
      int[] shapes = new int[table.columns() / costs.columns(shape)];
      if (table.allows(costs.scope(shape), shapes.length, cluster)) {
        Arrays.fill(shapes, shape);
        options.add(option(costs.scope(shape), shapes));
      }
    }
  }

  private Option option(ShardScope scope, int[] shapes) {
    double bytes = 0;
    for (int shape : shapes) {
      bytes += (double) costs.load(shape).bytes() * scope.devices(cluster);
    }
    return new Option(
        scope,
        costs.part(shapes[0]).cacheShare(),
        shapes,
        estimates.workMs(scope, shapes),
        costs.load(shapes[0]).bytes(),
        bytes);
  }

  private List<Option> fitting(List<Option> options) {
    return options.stream()
        .filter(
            way ->
                way.bytes() <= cluster.usableBytesPerDevice()
                    && costs.load(way.shapes()[0]).hostBytes()
                        <= cluster.hostMemoryBytesPerDevice())
        .toList();
  }

  private List<Option> plausible(List<Option> fitting, long bytes) {
    long memory = cluster.usableBytesPerDevice();
    double best = fitting.stream().mapToDouble(Option::workMs).min().orElse(0);
    return fitting.stream()
        .filter(
            way ->
                way.cacheShare().isPresent()
                    ? isWorthItsBytes(way, fitting)
                    : way.workMs() <= WORST * best
                        || (way.scope() == ShardScope.COPIES
                            ? bytes <= SMALL_BYTES
                            : bytes > LARGE * memory))
        .sorted(Comparator.comparingDouble(Option::workMs))
        .toList();
  }

  /** Returns whether no other way has less work and at most as many bytes. */
  private static boolean isWorthItsBytes(Option way, List<Option> others) {
    return others.stream()
        .noneMatch(
            other -> other.workMs() < way.workMs() && other.totalBytes() <= way.totalBytes());
  }

  /** Returns the ways to shard a table, those with the least work first. */
  List<Option> of(int table) {
    List<Option> known = ofTable.get(table);
    if (known == null) {
      List<Option> options = new ArrayList<>();
      addColumns(options, tables.get(table), table);
      addParts(options, tables.get(table), table);
      List<Option> fitting = fitting(options);
      known = plausible(fitting, tables.get(table).bytes());
      ofTable.set(table, known);
      smallest.set(
          table, fitting.stream().min(Comparator.comparingLong(Option::bytes)).orElse(null));
      isOnly[table] = fitting.size() == 1;
    }
    return known;
  }

  /**
   * Returns the way to shard a table whose largest part takes the least memory of a device,
   * whatever it costs; the table must have a way.
   */
  Option smallest(int table) {
    of(table);
    return smallest.get(table);
  }

  /** Returns whether each table has one way to be sharded, with equal parts at all its places. */
  boolean areFixed(Places places) {
    return IntStream.range(0, tables.size()).allMatch(t -> isFixed(t, places));
  }

  private boolean isFixed(int table, Places places) {
    List<Option> ways = of(table);
    if (ways.isEmpty() || !isOnly[table]) {
      return false;
    }
    Option only = ways.get(0);
    return only.shapes().length == places.countOf(only.scope())
        && Arrays.stream(only.shapes()).distinct().count() == 1;
  }

  /** Returns the running parts of a table if a plan may keep them, otherwise none. */
  List<CurrentPlan.RunningPart> kept(
      int table, List<CurrentPlan.RunningPart> running, Places places) {
    if (running.isEmpty()) {
      return running;
    }
    TableGroup group = tables.get(table);
    ShardScope scope = places.scope(running.get(0).place());
    int columns = running.stream().mapToInt(CurrentPlan.RunningPart::columns).sum();
    if (scope != ShardScope.DEVICE && columns < group.columns()) {
      return List.of(); // A table that is split over nodes is placed as a whole.
    }
    if (group.isConstrained() && !keepsConstraints(group, scope, running, places)) {
      return List.of();
    }
    boolean isEqual =
        running.stream().map(CurrentPlan.RunningPart::columns).distinct().count() == 1
            && running.stream().map(CurrentPlan.RunningPart::place).distinct().count()
                == running.size();
    boolean isPredicted = costs.shape(table, running.get(0).part(places)) != ShapeCosts.NONE;
    return isPredicted && isEqual ? running : List.of();
  }

  private boolean keepsConstraints(
      TableGroup group, ShardScope scope, List<CurrentPlan.RunningPart> running, Places places) {
    int columns = running.get(0).columns();
    boolean isInNode =
        scope != ShardScope.DEVICE
            || !group.keepsPartsInNode()
            || running.stream().map(part -> places.nodeOf(part.place())).distinct().count() == 1;
    return isInNode
        && group.columns() % columns == 0
        && group.allows(scope, group.columns() / columns, cluster);
  }

  /** Returns the tables that may be cached; must not be changed. */
  int[] cacheable() {
    return cacheable;
  }

  /** Returns whether parts of a table on single devices must all be in one node. */
  boolean keepsPartsInNode(int table) {
    return keepsPartsInNode[table];
  }
}
