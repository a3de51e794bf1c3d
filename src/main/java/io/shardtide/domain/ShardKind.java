package io.shardtide.domain;

/** How a table is sharded. */
public enum ShardKind {
  /** The whole table on one device. */
  TABLE_WISE,
  /** A range of columns. */
  COLUMN_WISE,
  /** A range of rows. */
  ROW_WISE,
  /** A copy on every device. */
  DATA_PARALLEL
}
