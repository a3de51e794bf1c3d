package io.shardtide.domain;

import java.util.Objects;

/**
 * A table with the generation of its latest change.
 *
 * @param table the table
 * @param since generation of the workload that added the table or changed it
 */
public record VersionedTable(TableSpec table, long since) {
  /** Checks that there is a table. */
  public VersionedTable {
    Objects.requireNonNull(table, "table");
  }
}
