package io.shardtide.domain;

import java.util.Comparator;
import java.util.Objects;

/**
 * A part of a table on a device.
 *
 * @param table name of the table
 * @param kind how the table is sharded
 * @param columnOffset first column, from 0
 * @param columns number of columns, at least 1
 * @param rowOffset first row, from 0
 * @param rows number of rows, at least 1
 * @param device number of the device, from 0
 */
public record Shard(
    String table,
    ShardKind kind,
    int columnOffset,
    int columns,
    long rowOffset,
    long rows,
    int device) {

  /** The order of shards in a plan: by table, column, row, device. */
  public static final Comparator<Shard> ORDER =
      Comparator.comparing(Shard::table)
          .thenComparingInt(Shard::columnOffset)
          .thenComparingLong(Shard::rowOffset)
          .thenComparingInt(Shard::device);

  /** Checks that the part is not empty. */
  public Shard {
    Objects.requireNonNull(table, "table");
    Objects.requireNonNull(kind, "kind");
    if (columnOffset < 0 || columns < 1 || rowOffset < 0 || rows < 1 || device < 0) {
      throw new IllegalArgumentException(
          "Shard of table %s with columns %d+%d, rows %d+%d on device %d; offsets and devices count from 0, sizes from 1"
              .formatted(Names.quote(table), columnOffset, columns, rowOffset, rows, device));
    }
  }

  /**
   * Returns columns {@code offset} to {@code offset + width} of a table: the whole of it or a
   * range.
   */
  public static Shard ofColumns(TableSpec table, int offset, int width, int device) {
    ShardKind kind = width == table.columns() ? ShardKind.TABLE_WISE : ShardKind.COLUMN_WISE;
    return new Shard(table.name(), kind, offset, width, 0, table.rows(), device);
  }
}
