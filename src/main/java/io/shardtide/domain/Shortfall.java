package io.shardtide.domain;

import java.util.List;
import java.util.Objects;

/**
 * Memory that a workload lacks on its cluster.
 *
 * @param bytesShort bytes that were missing, at least 1
 * @param proven whether no plan exists; false if a search found none
 * @param tablesToBlame the tables to look at first, largest first
 * @param message what does not fit, as a sentence
 */
public record Shortfall(
    long bytesShort, boolean proven, List<TableBytes> tablesToBlame, String message) {

  /** Copies what may change. */
  public Shortfall {
    if (bytesShort < 1) {
      throw new IllegalArgumentException(
          "bytes of a shortfall must be at least 1, got " + bytesShort);
    }
    Objects.requireNonNull(message, "message");
    tablesToBlame = List.copyOf(tablesToBlame);
  }

  /**
   * A table and its size.
   *
   * @param table name of the table
   * @param bytes bytes of the whole table
   */
  public record TableBytes(String table, long bytes) {
    /** Checks that there is a name. */
    public TableBytes {
      Objects.requireNonNull(table, "table");
    }
  }
}
