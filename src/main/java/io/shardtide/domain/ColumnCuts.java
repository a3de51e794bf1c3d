package io.shardtide.domain;

/** How a table may be cut into column parts. */
public enum ColumnCuts {
  /**
   * Into parts of equal width, on different devices. TorchRec can load checkpoints of such tables
   * only, and reshard no others.
   */
  EQUAL,
  /** Into any parts of a multiple of {@link TableSpec#COLUMN_UNIT} columns, on any devices. */
  ANY
}
