package io.shardtide.plan;

import java.util.Collections;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * What differs between two plans. The plan's own {@link ShardingPlan#transition moves} are counted
 * from the plan that trainers run; this is counted from any other, such as the one a program saw
 * last.
 *
 * @param moved parts of tables that both hold, on different devices, in the order of the shards of
 *     the later plan
 * @param added tables that only the later plan has
 * @param dropped tables that only the earlier plan has
 */
public record PlanDiff(List<Overlap> moved, SortedSet<String> added, SortedSet<String> dropped) {
  /** Copies what may change. */
  public PlanDiff {
    moved = List.copyOf(moved);
    added = Collections.unmodifiableSortedSet(new TreeSet<>(added));
    dropped = Collections.unmodifiableSortedSet(new TreeSet<>(dropped));
  }

  /** Returns what differs. */
  public static PlanDiff between(ShardingPlan earlier, ShardingPlan later) {
    return between(earlier.placed(), later.placed());
  }

  /** Returns what differs between the shards of two plans. */
  static PlanDiff between(PlanShards earlier, PlanShards later) {
    return new PlanDiff(
        Overlap.between(earlier, later).stream().filter(Overlap::changesDevice).toList(),
        less(later, earlier),
        less(earlier, later));
  }

  private static SortedSet<String> less(PlanShards all, PlanShards without) {
    SortedSet<String> tables = new TreeSet<>(Shard.byTable(all.shards()).keySet());
    tables.removeAll(Shard.byTable(without.shards()).keySet());
    return tables;
  }
}
