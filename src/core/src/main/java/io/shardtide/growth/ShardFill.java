package io.shardtide.growth;

import io.shardtide.workload.Limits;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;

/**
 * How full the slots of a hashed table are that a rank has.
 *
 * @param rank the rank (device), from 0
 * @param rowOffset first row of the shard; shards of one table with the same first row have the
 *     same ids, as column parts do
 * @param slots slots of the shard, at least 1
 * @param ids ids that it holds, 0 or more; more than slots if ids share them
 * @param insertions ids that it took in since the report before, 0 or more
 * @param evictions ids that it gave up since then, 0 or more
 * @param collisions lookups since then that found their slot taken by another id, 0 or more
 */
public record ShardFill(
    int rank,
    long rowOffset,
    long slots,
    long ids,
    long insertions,
    long evictions,
    long collisions) {

  /** More than any counter reaches between two reports; keeps sums within 64 bits. */
  static final long MOST = 1L << 50;

  /**
   * @throws RejectedException if a number is outside its range
   */
  public ShardFill {
    Limits.of(RejectionReason.INVALID_MEASUREMENT, "a table's fill")
        .whole("rank", rank, 0, MOST)
        .whole("row offset", rowOffset, 0, MOST)
        .whole("slots", slots, 1, MOST)
        .whole("ids", ids, 0, MOST)
        .whole("insertions", insertions, 0, MOST)
        .whole("evictions", evictions, 0, MOST)
        .whole("collisions", collisions, 0, MOST);
  }
}
