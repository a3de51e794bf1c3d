package io.shardtide.domain;

/** How a table is sharded: TorchRec's {@code ShardingType}, and one more. */
public enum ShardKind implements Named {
  /** The whole table on one device. */
  TABLE_WISE,
  /** Ranges of columns, on any devices. */
  COLUMN_WISE,
  /** Ranges of columns, all on devices of one node. */
  TABLE_COLUMN_WISE,
  /** Ranges of rows, one on each device. */
  ROW_WISE,
  /** Ranges of rows, one on each device of a node. */
  TABLE_ROW_WISE,
  /** Ranges of columns, each cut into ranges of rows over the devices of a node. */
  GRID_SHARD,
  /** A copy on each device. */
  DATA_PARALLEL,
  /**
   * Ranges of rows, on any devices: each sends partial sums of all samples, as a range of columns
   * does. Not a kind of TorchRec's, so that constraints must name it; from EMBark (Liu et al.,
   * RecSys 2024).
   */
  PARTIAL_ROW_WISE;

  /** Returns which devices a shard of this kind involves. */
  public ShardScope scope() {
    return switch (this) {
      case TABLE_WISE, COLUMN_WISE, TABLE_COLUMN_WISE, PARTIAL_ROW_WISE -> ShardScope.DEVICE;
      case TABLE_ROW_WISE, GRID_SHARD -> ShardScope.NODE;
      case ROW_WISE -> ShardScope.CLUSTER;
      case DATA_PARALLEL -> ShardScope.COPIES;
    };
  }

  /** Returns whether a table is only sharded so if its constraints name the kind. */
  public boolean mustBeNamed() {
    return this == PARTIAL_ROW_WISE;
  }
}
