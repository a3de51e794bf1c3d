package io.shardtide.domain;

import java.util.Comparator;
import java.util.Objects;

/**
 * A part of a table on a device.
 *
 * @param table name of the table
 * @param region the part
 * @param device number of the device, from 0
 * @param kind how the table is sharded
 */
public record Shard(String table, Region region, int device, ShardKind kind) {

  /** The order of shards in a plan: by table, column, row, device. */
  public static final Comparator<Shard> ORDER =
      Comparator.comparing(Shard::table)
          .thenComparing(Shard::region, Region.ORDER)
          .thenComparingInt(Shard::device);

  /**
   * @throws IllegalArgumentException if the device is below 0
   */
  public Shard {
    Objects.requireNonNull(table, "table");
    Objects.requireNonNull(region, "region");
    Objects.requireNonNull(kind, "kind");
    if (device < 0) {
      throw new IllegalArgumentException(
          "device of a shard of table %s must be at least 0, got %d"
              .formatted(Names.quote(table), device));
    }
  }

  /** Returns columns of a table on a device: the whole table or a range of its columns. */
  public static Shard ofColumns(TableSpec table, int columnOffset, int columns, int device) {
    return new Shard(
        table.name(),
        Region.ofColumns(table, columnOffset, columns),
        device,
        columns == table.columns() ? ShardKind.TABLE_WISE : ShardKind.COLUMN_WISE);
  }

  /** Returns the first column, from 0. */
  public int columnOffset() {
    return region.columnOffset();
  }

  /** Returns the number of columns. */
  public int columns() {
    return region.columns();
  }

  /** Returns the first row, from 0. */
  public long rowOffset() {
    return region.rowOffset();
  }

  /** Returns the number of rows. */
  public long rows() {
    return region.rows();
  }
}
