package io.shardtide.growth;

import io.shardtide.workload.Limits;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;

/**
 * How full a hashed table is.
 *
 * @param table its name
 * @param shards its shards, of all ranks; at least one
 */
public record TableFill(String table, List<ShardFill> shards) {
  /** As many shards as a plan of a table may have on as many devices as a cluster. */
  private static final int MOST_SHARDS = 1_000_000;

  /**
   * @throws RejectedException if there is no shard
   */
  public TableFill {
    Names.check(table, "table name", RejectionReason.INVALID_TABLE_NAME);
    shards = List.copyOf(shards);
    Limits.of(RejectionReason.INVALID_MEASUREMENT, "the fill of table", table)
        .whole("number of shards", shards.size(), 1, MOST_SHARDS);
  }

  /**
   * Returns a sum over the shards; those with the same first row count once: they have the same
   * ids.
   */
  public long sum(ToLongFunction<ShardFill> of) {
    Map<Long, Long> byRow = new TreeMap<>();
    shards.forEach(shard -> byRow.merge(shard.rowOffset(), of.applyAsLong(shard), Math::max));
    return byRow.values().stream().mapToLong(n -> n).sum();
  }
}
