package io.shardtide.search;

import io.shardtide.cost.TablePrediction;
import io.shardtide.option.TablePart;
import io.shardtide.plan.Region;
import io.shardtide.plan.Shard;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.RowOrder;
import io.shardtide.workload.RowSpread;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Says which columns of each table lie on which device. A device's columns lie side by side; of
 * those that run somewhere already, as many as possible stay.
 */
final class ShardLayout {
  private ShardLayout() {}

  /** Returns the shards of each table of a plan, by name of the table; each by column. */
  static Map<String, List<Shard>> of(
      State state, List<TableGroup> tables, List<RunningTable> running) {
    Map<String, List<Shard>> shards = new HashMap<>();
    for (int t = 0; t < tables.size(); t++) {
      shards(tables.get(t), state.way[t], state.at[t], state.places, running.get(t).parts())
          .forEach((table, ofTable) -> shards.put(table.name(), ofTable));
    }
    return shards;
  }

  /**
   * Returns the shards of each table of a group, by column and row.
   *
   * @param group the tables, with all their rows
   * @param way the way that they are sharded
   * @param at the place of each part
   * @param running its running parts
   */
  static Map<TableSpec, List<Shard>> shards(
      TableGroup group, Way way, int[] at, Places places, List<RunningTable.RunningPart> running) {
    TableSpec first = group.tables().get(0).table();
    int[] ordered = order(Arrays.copyOf(at, way.parts), way.part, first.rows(), running);
    ShardKind kind = group.kind(way.part, places.devices).orElseThrow();
    Map<TableSpec, List<Shard>> shards = new LinkedHashMap<>();
    for (TablePrediction prediction : group.tables()) {
      TableSpec table = prediction.table();
      TablePart part = way.part.withColumns(group.columnsOf(table, way.part.columns()));
      List<Shard> ofTable = new ArrayList<>();
      long firstRow = way.option.firstRow();
      if (firstRow > 0) {
        Region onAll = new Region(0, table.columns(), 0, firstRow);
        ofTable.add(new Shard(table.name(), onAll, Shard.EVERY_DEVICE, ShardKind.DATA_PARALLEL));
      }
      for (int number = 0; number < ordered.length; number++) {
        Region all = part.region(number, table.rows() - firstRow);
        boolean isCopied = kind.scope() == ShardScope.COPIES;
        int device = isCopied ? Shard.EVERY_DEVICE : places.first[ordered[number]];
        int devices = isCopied ? 1 : places.size(ordered[number]);
        int blocks = Math.max(devices, part.blocks());
        Optional<RowOrder> rowOrder =
            blocks == 1 ? Optional.empty() : table.hottest(blocks).map(RowSpread.Hottest::order);
        long rows = Region.blockRows(all.rows(), devices);
        for (long row = all.rowOffset(); row < all.rowEnd(); row += rows) {
          long ofBlock = Math.min(rows, all.rowEnd() - row);
          Region block = new Region(all.columnOffset(), all.columns(), firstRow + row, ofBlock);
          ofTable.add(
              new Shard(
                  table.name(),
                  block,
                  device,
                  kind,
                  part.cacheShare(),
                  way.option.deduplicated(),
                  rowOrder));
          device++;
        }
      }
      shards.put(table, ofTable);
    }
    return shards;
  }

  /**
   * Orders the places of a table's parts: those that hold parts already keep their order, and each
   * other one is put where most of the table stays where it is.
   *
   * @param at the places; changed
   * @param part each part
   * @param rows rows of the table
   */
  static int[] order(int[] at, TablePart part, long rows, List<RunningTable.RunningPart> before) {
    Arrays.sort(at);
    if (before.isEmpty()) {
      return at;
    }
    List<Integer> left = new ArrayList<>();
    for (int place : at) {
      left.add(place);
    }
    List<Integer> order = new ArrayList<>();
    for (RunningTable.RunningPart running : before) {
      if (left.remove((Integer) running.place())) {
        order.add(running.place());
      }
    }
    List<Region> regions = new ArrayList<>();
    for (int number = 0; number < at.length; number++) {
      regions.add(part.region(number, rows));
    }
    Map<Integer, List<RunningTable.RunningPart>> byPlace =
        before.stream().collect(Collectors.groupingBy(RunningTable.RunningPart::place));
    for (int place : left) {
      order.add(bestIndex(order, place, regions, byPlace), place);
    }
    return order.stream().mapToInt(place -> place).toArray();
  }

  /** Returns where another place leaves most elements of the table where they are. */
  private static int bestIndex(
      List<Integer> order,
      int place,
      List<Region> regions,
      Map<Integer, List<RunningTable.RunningPart>> before) {
    // Elements are whole numbers below 2^53: sums are exact in any order.
    double kept = 0;
    for (int i = 0; i < order.size(); i++) {
      kept += kept(order.get(i), regions.get(i + 1), before);
    }
    int best = 0;
    double bestKept = -1;
    for (int i = 0; i <= order.size(); i++) {
      double keptHere = kept + kept(place, regions.get(i), before);
      if (keptHere > bestKept) {
        bestKept = keptHere;
        best = i;
      }
      if (i < order.size()) {
        kept +=
            kept(order.get(i), regions.get(i), before)
                - kept(order.get(i), regions.get(i + 1), before);
      }
    }
    return best;
  }

  /** Returns how many elements of a part are at its place already. */
  private static double kept(
      int place, Region region, Map<Integer, List<RunningTable.RunningPart>> before) {
    double kept = 0;
    for (RunningTable.RunningPart running : before.getOrDefault(place, List.of())) {
      kept += running.region().commonElements(region);
    }
    return kept;
  }
}
