package io.shardtide.search.local;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.Sharding.ColumnPart;
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
      Sharding sharding = Sharding.ofColumns(order(assignment, t, running));
      shards.addAll(sharding.shards(tables.get(t), cluster));
    }
    return shards;
  }

  /**
   * Devices that hold columns already keep their order; each other one is put where most columns
   * stay.
   */
  private static List<ColumnPart> order(Assignment assignment, int table, CurrentPlan running) {
    List<ColumnPart> parts = new ArrayList<>();
    for (int i = 0; i < assignment.shardsOfTable(table); i++) {
      parts.add(new ColumnPart(assignment.columnsOfTable(table, i), assignment.device(table, i)));
    }
    parts.sort(Comparator.comparingInt(ColumnPart::device).thenComparing(ColumnPart::columns));
    List<Shard> before = running.shards(table);
    if (before.isEmpty()) {
      return parts;
    }
    List<ColumnPart> order = new ArrayList<>();
    for (Shard shard : before) {
      // The widest of the device's that is left: most of the columns that run there stay in it.
      parts.stream()
          .filter(part -> part.device() == shard.device())
          .reduce((narrower, wider) -> wider)
          .ifPresent(
              part -> {
                order.add(part);
                parts.remove(part);
              });
    }
    for (ColumnPart part : parts) {
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
  private static int kept(List<ColumnPart> order, List<Shard> before) {
    int kept = 0;
    int offset = 0;
    for (ColumnPart part : order) {
      int end = offset + part.columns();
      for (Shard shard : before) {
        if (shard.device() == part.device()) {
          int from = Math.max(offset, shard.columnOffset());
          int to = Math.min(end, shard.region().columnEnd());
          kept += Math.max(0, to - from);
        }
      }
      offset = end;
    }
    return kept;
  }
}
