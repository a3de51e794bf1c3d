package io.shardtide.torchrec;

import io.shardtide.plan.Shard;
import java.util.Comparator;

/**
 * A part of a table on a rank: TorchRec's {@code ShardMetadata}. In contrast to a plan's shard, it
 * may have no rows: where rows are split over ranks, the last ones may be left without any.
 *
 * @param columnOffset first column, from 0
 * @param columns number of columns
 * @param rowOffset first row, from 0; the table's rows if the shard has none
 * @param rows number of rows
 * @param rank rank of the device; {@link Shard#EVERY_DEVICE} of copies
 */
record ShardMetadata(int columnOffset, int columns, long rowOffset, long rows, int rank) {
  /** By first column, then by first row. */
  static final Comparator<ShardMetadata> ORDER =
      Comparator.comparingInt(ShardMetadata::columnOffset)
          .thenComparingLong(ShardMetadata::rowOffset);

  static ShardMetadata of(Shard shard) {
    return new ShardMetadata(
        shard.columnOffset(), shard.columns(), shard.rowOffset(), shard.rows(), shard.device());
  }

  long rowEnd() {
    return rowOffset + rows;
  }

  @Override
  public String toString() {
    return "columns %d+%d, rows %d+%d on device %d"
        .formatted(columnOffset, columns, rowOffset, rows, rank);
  }
}
