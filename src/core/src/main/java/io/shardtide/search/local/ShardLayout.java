package io.shardtide.search.local;

import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Region;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.Sharding.ColumnPart;
import io.shardtide.domain.Sharding.NodePart;
import io.shardtide.domain.TableSpec;
import io.shardtide.option.TablePart;
import io.shardtide.search.TableGroup;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.stream.Collectors;

/**
 * Says which columns of each table lie on which device. A device's columns lie side by side; of
 * those that run somewhere already, as many as possible stay.
 */
final class ShardLayout {
  private ShardLayout() {}

  /** Returns the shards of each table of a plan, by name of the table; each by column. */
  static Map<String, List<Shard>> of(
      State state, List<TableGroup> tables, ClusterSpec cluster, CurrentPlan running) {
    Map<String, List<Shard>> shards = new HashMap<>();
    for (int t = 0; t < tables.size(); t++) {
      Way way = state.way(t);
      OptionalDouble cacheShare = way.part.cacheShare();
      shardings(tables.get(t), way, state.placesOf(t), state.places, running.parts(t))
          .forEach(
              (table, sharding) ->
                  shards.put(
                      table.name(),
                      sharding.shards(table, cluster).stream()
                          .map(shard -> shard.isCopied() ? shard : shard.withCacheShare(cacheShare))
                          .toList()));
    }
    return shards;
  }

  /**
   * Returns the sharding of each table of a group.
   *
   * @param group the tables, with all their rows
   * @param way the way that they are sharded
   * @param at the place of each part
   * @param running its running parts
   */
  static Map<TableSpec, Sharding> shardings(
      TableGroup group, Way way, int[] at, Places places, List<CurrentPlan.RunningPart> running) {
    TableSpec first = group.tables().get(0).table();
    int[] ordered = order(Arrays.copyOf(at, way.parts), way.part, first.rows(), running);
    Map<TableSpec, Sharding> shardings = new LinkedHashMap<>();
    for (TablePrediction prediction : group.tables()) {
      TableSpec table = prediction.table();
      TablePart part = way.part.withColumns(group.columnsOf(table, way.part.columns()));
      Sharding sharding = sharding(group, part, ordered, places);
      shardings.put(
          table, way.hotRows > 0 ? new Sharding.HotColdSplit(way.hotRows, sharding) : sharding);
    }
    return shardings;
  }

  /**
   * Returns a table's sharding.
   *
   * @param at the places of its parts, in the order of their columns
   */
  private static Sharding sharding(TableGroup group, TablePart part, int[] at, Places places) {
    // On the only device of a cluster, or of a table too narrow for two, there may be a single
    // part.
    boolean isCut =
        at.length > 1
            || (places.devices() == 1
                ? EnumSet.of(
                        ShardKind.COLUMN_WISE, ShardKind.TABLE_COLUMN_WISE, ShardKind.GRID_SHARD)
                    .contains(group.kindOnOneDevice().orElseThrow())
                : !group.mayBeWhole(part.scope()));
    return switch (part.scope()) {
      case DEVICE -> {
        if (part.blocks() > 1 || (places.devices() == 1 && isOfBlocks(group))) {
          yield new Sharding.PartialRowWise(Arrays.stream(at).boxed().toList());
        }
        List<ColumnPart> columns =
            Arrays.stream(at).mapToObj(place -> new ColumnPart(part.columns(), place)).toList();
        if (!isCut) {
          yield new Sharding.TableWise(at[0]);
        }
        yield group.keepsPartsInNode()
            ? new Sharding.TableColumnWise(columns)
            : new Sharding.ColumnWise(columns);
      }
      case NODE ->
          isCut
              ? new Sharding.GridShard(
                  Arrays.stream(at)
                      .mapToObj(place -> new NodePart(part.columns(), places.node(place)))
                      .toList())
              : new Sharding.TableRowWise(places.node(at[0]));
      case CLUSTER -> new Sharding.RowWise();
      case COPIES -> new Sharding.DataParallel();
    };
  }

  private static boolean isOfBlocks(TableGroup group) {
    return group.kindOnOneDevice().orElseThrow() == ShardKind.PARTIAL_ROW_WISE;
  }

  /**
   * Orders the places of a table's parts: those that hold parts already keep their order, and each
   * other one is put where most of the table stays where it is.
   *
   * @param at the places; changed
   * @param part each part
   * @param rows rows of the table
   */
  static int[] order(int[] at, TablePart part, long rows, List<CurrentPlan.RunningPart> before) {
    Arrays.sort(at);
    if (before.isEmpty()) {
      return at;
    }
    List<Integer> left = new ArrayList<>();
    for (int place : at) {
      left.add(place);
    }
    List<Integer> order = new ArrayList<>();
    for (CurrentPlan.RunningPart running : before) {
      if (left.remove((Integer) running.place())) {
        order.add(running.place());
      }
    }
    List<Region> regions = new ArrayList<>();
    for (int number = 0; number < at.length; number++) {
      regions.add(part.region(number, rows));
    }
    Map<Integer, List<CurrentPlan.RunningPart>> byPlace =
        before.stream().collect(Collectors.groupingBy(CurrentPlan.RunningPart::place));
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
      Map<Integer, List<CurrentPlan.RunningPart>> before) {
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
      int place, Region region, Map<Integer, List<CurrentPlan.RunningPart>> before) {
    double kept = 0;
    for (CurrentPlan.RunningPart running : before.getOrDefault(place, List.of())) {
      kept += running.region().commonElements(region);
    }
    return kept;
  }
}
