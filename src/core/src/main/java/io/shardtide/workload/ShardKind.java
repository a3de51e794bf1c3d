package io.shardtide.workload;

import java.util.Arrays;
import java.util.stream.Collectors;

/** How a table is sharded: TorchRec's {@code ShardingType}, and one more. */
public enum ShardKind implements Named {
  /** The whole table on one device. */
  TABLE_WISE(ShardScope.DEVICE, false),
  /** Ranges of columns, on any devices. */
  COLUMN_WISE(ShardScope.DEVICE, true),
  /** Ranges of columns, all on devices of one node. */
  TABLE_COLUMN_WISE(ShardScope.DEVICE, true),
  /** Ranges of rows, one on each device. */
  ROW_WISE(ShardScope.CLUSTER, false),
  /** Ranges of rows, one on each device of a node. */
  TABLE_ROW_WISE(ShardScope.NODE, false),
  /** Ranges of columns, each cut into ranges of rows over the devices of a node. */
  GRID_SHARD(ShardScope.NODE, true),
  /** A copy on each device. */
  DATA_PARALLEL(ShardScope.COPIES, false),
  /**
   * Ranges of rows, on any devices: each sends partial sums of all samples, as a range of columns
   * does. Not a kind of TorchRec's, so that constraints must name it; from EMBark (Liu et al.,
   * RecSys 2024).
   */
  PARTIAL_ROW_WISE(ShardScope.DEVICE, false);

  private final ShardScope scope;
  private final boolean isCut;

  ShardKind(ShardScope scope, boolean isCut) {
    this.scope = scope;
    this.isCut = isCut;
  }

  /** Returns which devices a shard of this kind involves. */
  public ShardScope scope() {
    return scope;
  }

  /** Returns whether the columns are cut; of a table that is too narrow, into one part. */
  public boolean isCut() {
    return isCut;
  }

  /** Returns whether the rows are cut into blocks on any devices. */
  public boolean isOfBlocks() {
    return this == PARTIAL_ROW_WISE;
  }

  /** Returns whether only pooled tables are sharded so. */
  public boolean isPooledOnly() {
    return scope == ShardScope.NODE || isOfBlocks();
  }

  /** Returns whether rows may be in host memory. */
  public boolean mayBeCached() {
    return scope != ShardScope.COPIES && !isOfBlocks();
  }

  /** Returns the kinds whose rows are never in host memory, for people. */
  static String neverCached() {
    return Arrays.stream(values())
        .filter(kind -> !kind.mayBeCached())
        .map(ShardKind::label)
        .collect(Collectors.joining(" and "));
  }

  /** Returns whether TorchRec has the kind; if not, constraints must name it. */
  public boolean isOfTorchRec() {
    return !isOfBlocks();
  }
}
