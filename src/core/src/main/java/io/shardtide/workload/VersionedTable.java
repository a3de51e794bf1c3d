package io.shardtide.workload;

/**
 * A table with the generation of its latest change.
 *
 * @param table the table
 * @param since generation of the workload that added the table or changed it
 */
public record VersionedTable(TableSpec table, long since) {}
