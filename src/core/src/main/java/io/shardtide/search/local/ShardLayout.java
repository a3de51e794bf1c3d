package io.shardtide.search.local;

import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.Sharding.ColumnPart;
import io.shardtide.domain.Sharding.NodePart;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.TableGroup;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

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
    List<PlacedPart> parts = new ArrayList<>();
    for (int i = 0; i < way.parts; i++) {
      parts.add(new PlacedPart(at[i], way.part.columns()));
    }
    List<PlacedPart> ordered = order(parts, running);
    Map<TableSpec, Sharding> shardings = new LinkedHashMap<>();
    for (TablePrediction prediction : group.tables()) {
      TableSpec table = prediction.table();
      Sharding sharding =
          sharding(
              group,
              ordered.stream()
                  .map(p -> new PlacedPart(p.place(), group.columnsOf(table, p.columns())))
                  .toList(),
              places);
      shardings.put(
          table, way.hotRows > 0 ? new Sharding.HotColdSplit(way.hotRows, sharding) : sharding);
    }
    return shardings;
  }

  private static Sharding sharding(TableGroup group, List<PlacedPart> parts, Places places) {
    // On the only device of a cluster, a table may be cut into a single part.
    boolean isCut =
        parts.size() > 1
            || (places.devices() == 1
                && EnumSet.of(
                        ShardKind.COLUMN_WISE, ShardKind.TABLE_COLUMN_WISE, ShardKind.GRID_SHARD)
                    .contains(group.kindOnOneDevice().orElseThrow()));
    return switch (places.scope(parts.get(0).place())) {
      case DEVICE -> {
        List<ColumnPart> columns =
            parts.stream().map(p -> new ColumnPart(p.columns(), p.place())).toList();
        if (!isCut) {
          yield new Sharding.TableWise(parts.get(0).place());
        }
        yield group.keepsPartsInNode()
            ? new Sharding.TableColumnWise(columns)
            : new Sharding.ColumnWise(columns);
      }
      case NODE ->
          isCut
              ? new Sharding.GridShard(
                  parts.stream()
                      .map(p -> new NodePart(p.columns(), places.node(p.place())))
                      .toList())
              : new Sharding.TableRowWise(places.node(parts.get(0).place()));
      case CLUSTER -> new Sharding.RowWise();
      case COPIES -> new Sharding.DataParallel();
    };
  }

  /** Columns of a table at a place. */
  private record PlacedPart(int place, int columns) {}

  /**
   * Devices that hold columns already keep their order; each other one is put where most columns
   * stay.
   */
  private static List<PlacedPart> order(
      List<PlacedPart> parts, List<CurrentPlan.RunningPart> before) {
    parts.sort(Comparator.comparingInt(PlacedPart::place).thenComparing(PlacedPart::columns));
    if (before.isEmpty()) {
      return parts;
    }
    List<PlacedPart> order = new ArrayList<>();
    for (CurrentPlan.RunningPart shard : before) {
      // The widest of the device's that is left: most of the columns that run there stay in it.
      parts.stream()
          .filter(part -> part.place() == shard.place())
          .reduce((narrower, wider) -> wider)
          .ifPresent(
              part -> {
                order.add(part);
                parts.remove(part);
              });
    }
    for (PlacedPart part : parts) {
      int best = 0;
      int bestKept = -1;
      for (int at = 0; at <= order.size(); at++) {
        order.add(at, part);
        int kept = kept(order, before);
        order.remove(at);
        if (kept > bestKept) {
          bestKept = kept;
          best = at;
        }
      }
      order.add(best, part);
    }
    return order;
  }

  /** Returns how many columns are where they were. */
  private static int kept(List<PlacedPart> order, List<CurrentPlan.RunningPart> before) {
    int kept = 0;
    int offset = 0;
    for (PlacedPart part : order) {
      int end = offset + part.columns();
      for (CurrentPlan.RunningPart shard : before) {
        if (shard.place() == part.place()) {
          int from = Math.max(offset, shard.columnOffset());
          int to = Math.min(end, shard.columnEnd());
          kept += Math.max(0, to - from);
        }
      }
      offset = end;
    }
    return kept;
  }
}
