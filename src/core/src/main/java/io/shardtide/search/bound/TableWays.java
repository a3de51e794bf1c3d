package io.shardtide.search.bound;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.HotColdPrediction;
import io.shardtide.cost.PartTower;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import io.shardtide.option.TablePart;
import io.shardtide.search.PartMemory;
import io.shardtide.search.TableGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;

/** All ways to shard the tables of a problem that a plan may have, and perhaps more. */
final class TableWays {
  private final ClusterSpec cluster;
  private final PartMemory memory;
  private final CostEvaluator evaluator;
  private final List<double[]> towers = new ArrayList<>();
  private final List<Integer> owners = new ArrayList<>();
  private int owner;
  private final List<List<TableWay>> ofTables = new ArrayList<>();

  TableWays(List<TablePrediction> tables, ClusterSpec cluster, CostEvaluator evaluator) {
    this.cluster = cluster;
    memory = new PartMemory(cluster);
    this.evaluator = evaluator;
    for (TableGroup group : TableGroup.of(tables)) {
      List<TableWay> ways = of(group);
      if (!group.isShared()) {
        for (HotColdPrediction use : group.tables().get(0).byUse()) {
          addByUse(ways, use);
        }
      }
      ofTables.add(ways);
    }
  }

  /** Returns the ways of each table, or of tables that are placed together. */
  List<List<TableWay>> ofTables() {
    return ofTables;
  }

  /**
   * Returns a number of what each part is a part of: a device has no two parts of the same number.
   */
  int[] owners() {
    return owners.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Returns what each part adds to the sum of towers of a device. */
  List<double[]> towers() {
    return towers;
  }

  private void addByUse(List<TableWay> ways, HotColdPrediction use) {
    List<TableWay> copies = of(new TableGroup(List.of(use.hot())));
    List<TableWay> others = of(new TableGroup(List.of(use.others())));
    for (TableWay copy : copies) {
      for (TableWay other : others) {
        ways.add(copy.with(other));
      }
    }
  }

  private List<TableWay> of(TableGroup group) {
    owner++;
    List<TableWay> ways = new ArrayList<>();
    boolean areOnDevices = group.tables().stream().noneMatch(table -> table.towers().isEmpty());
    int most = areOnDevices ? group.maxColumnParts(cluster) : 0;
    for (int count = 1; count <= most; count++) {
      if (!group.isDivisible(count)) {
        continue;
      }
      TablePart part = new TablePart(ShardScope.DEVICE, group.columns() / count);
      if (!group.isConstrained() || group.allows(part, cluster)) {
        add(ways, group, part, count, (table, of) -> table.tower(of.columns()));
      }
    }
    if (group.isShared()) {
      for (TablePart part : group.parts(cluster)) {
        addAllowed(ways, group, part, (table, of) -> table.tower(of).orElseThrow());
      }
    } else {
      for (PartTower of : group.tables().get(0).parts()) {
        addAllowed(ways, group, of.part(), (table, same) -> of.tower());
      }
    }
    return ways;
  }

  private void addAllowed(
      List<TableWay> ways,
      TableGroup group,
      TablePart part,
      BiFunction<TablePrediction, TablePart, float[]> tower) {
    if (group.allows(part, cluster)) {
      add(ways, group, part, part.count(group.columns()), tower);
    }
  }

  private void add(
      List<TableWay> ways,
      TableGroup group,
      TablePart part,
      int count,
      BiFunction<TablePrediction, TablePart, float[]> tower) {
    int devices = part.scope().devices(cluster);
    ShapeLoad load = null;
    double bytes = 0;
    for (TablePrediction table : group.tables()) {
      TableSpec spec = table.table();
      TablePart ofTable = part.withColumns(group.columnsOf(spec, part.columns()));
      ShapeLoad one = ShapeLoad.of(evaluator, tower.apply(table, ofTable), ofTable, spec, cluster);
      load = load == null ? one : load.plus(one);
      // The last device of a split part may have fewer rows than the others.
      double rows = spec.rows() * (part.scope() == ShardScope.COPIES ? devices : 1.0);
      double held = (double) ofTable.rows(spec, cluster) * devices;
      double share = rows * spec.columns() / (held * ofTable.columns() * count);
      bytes += Math.max(0, count * (share * one.bytes() * devices - devices));
    }
    if (load.bytes() > memory.most(part.scope(), count)
        || load.hostBytes() > cluster.hostMemoryBytesPerDevice()) {
      return;
    }
    double[] elements = new double[Scopes.COUNT];
    ShardScope collectives = load.scope();
    double sum = load.elements() * count;
    elements[Scopes.number(collectives)] =
        switch (collectives) {
          case DEVICE -> sum * devices / cluster.devices();
          case NODE -> sum / cluster.nodes();
          case CLUSTER, COPIES -> sum;
        };
    ways.add(
        new TableWay(
            new int[] {towers.size()},
            new int[] {count * devices},
            elements,
            Scopes.set(collectives),
            bytes));
    towers.add(load.tower());
    owners.add(owner);
  }
}
