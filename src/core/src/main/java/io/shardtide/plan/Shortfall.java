package io.shardtide.plan;

import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.Limits;
import java.util.List;

/**
 * Memory that a workload lacks on its cluster.
 *
 * @param bytesShort bytes that are missing, at least; 0 if it is not memory that is missing, but a
 *     way to shard a table
 * @param proven whether no plan exists; false if a search found none
 * @param tablesToBlame the tables to look at first, largest first
 * @param message what does not fit, as a sentence
 */
public record Shortfall(
    long bytesShort, boolean proven, List<TableBytes> tablesToBlame, String message) {

  /** Copies what may change. */
  public Shortfall {
    Limits.ARGUMENTS.atLeast("bytes of a shortfall", bytesShort, 0);
    tablesToBlame = List.copyOf(tablesToBlame);
  }

  /** Returns what is wrong, as the end of a sentence that begins with what does not fit. */
  public String describe() {
    return bytesShort == 0
        ? "does not fit: " + message
        : "does not fit, %s short: %s".formatted(ByteSizes.describe(bytesShort), message);
  }

  /**
   * A table and its size.
   *
   * @param table name of the table
   * @param bytes bytes of the whole table
   */
  public record TableBytes(String table, long bytes) {}
}
