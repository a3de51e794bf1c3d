package io.shardtide.domain;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** How a table is sharded: TorchRec's {@code ShardingType}, and one more. */
public enum ShardKind {
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

  /** Returns the kind with a name in TorchRec's style, if there is one. */
  public static Optional<ShardKind> ofTorchRecName(String name) {
    return Arrays.stream(values()).filter(kind -> kind.torchRecName().equals(name)).findFirst();
  }

  /** Returns the names of all kinds in TorchRec's style. */
  public static List<String> torchRecNames() {
    return Arrays.stream(values()).map(ShardKind::torchRecName).toList();
  }

  /** Returns whether a table is only sharded so if its constraints name the kind. */
  public boolean mustBeNamed() {
    return this == PARTIAL_ROW_WISE;
  }

  /** Returns the name in TorchRec's style: {@code table_wise}, say. */
  public String torchRecName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
