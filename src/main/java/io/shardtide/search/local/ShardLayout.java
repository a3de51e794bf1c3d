package io.shardtide.search.local;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.Sharding.ColumnPart;
import io.shardtide.domain.Sharding.NodePart;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Says which columns of each table lie on which device. A device's columns lie side by side; of
 * those that run somewhere already, as many as possible stay.
 */
final class ShardLayout {
  private ShardLayout() {}

  /** Returns the shards of an assignment, by table and column. */
  static List<Shard> of(
      Assignment assignment, List<TableSpec> tables, ClusterSpec cluster, CurrentPlan running) {
    List<Shard> shards = new ArrayList<>();
    for (int t = 0; t < tables.size(); t++) {
      shards.addAll(sharding(assignment, t, running).shards(tables.get(t), cluster));
    }
    return shards;
  }

  private static Sharding sharding(Assignment assignment, int table, CurrentPlan running) {
    int count = assignment.shardsOfTable(table);
    int[] place = new int[count];
    int[] columns = new int[count];
    for (int i = 0; i < count; i++) {
      place[i] = assignment.place(table, i);
      columns[i] = assignment.columnsOfTable(table, i);
    }
    return of(assignment.places(), place, columns, count, running.parts(table));
  }

  /**
   * Returns the sharding of a table's parts.
   *
   * @param place the place of each part
   * @param columns the columns of each part
   * @param count number of parts
   * @param running its running parts
   */
  static Sharding of(
      Places places, int[] place, int[] columns, int count, List<CurrentPlan.RunningPart> running) {
    List<PlacedPart> parts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      parts.add(new PlacedPart(place[i], columns[i]));
    }
    parts = order(parts, running);
    return switch (places.scope(place[0])) {
      case DEVICE ->
          Sharding.ofColumns(
              parts.stream().map(p -> new ColumnPart(p.columns(), p.place())).toList());
      case NODE ->
          count == 1
              ? new Sharding.TableRowWise(places.node(place[0]))
              : new Sharding.GridShard(
                  parts.stream()
                      .map(p -> new NodePart(p.columns(), places.node(p.place())))
                      .toList());
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
