package io.shardtide.plan;

import io.shardtide.workload.TableSpec;
import java.util.Comparator;
import java.util.Optional;

/**
 * A rectangle of a table's elements.
 *
 * @param columnOffset first column, from 0
 * @param columns number of columns, at least 1
 * @param rowOffset first row, from 0
 * @param rows number of rows, at least 1
 */
public record Region(int columnOffset, int columns, long rowOffset, long rows) {
  /** By first column, then by first row. */
  public static final Comparator<Region> ORDER =
      Comparator.comparingInt(Region::columnOffset).thenComparingLong(Region::rowOffset);

  /**
   * @throws IllegalArgumentException if the region is empty or begins before the table
   */
  public Region {
    check("columns", columnOffset, columns, columnOffset + columns);
    check("rows", rowOffset, rows, rowOffset + rows);
  }

  private static void check(String what, long offset, long count, long end) {
    if (offset < 0 || count < 1 || end < 0) {
      throw new IllegalArgumentException(
          "%s must be at least 1 from an offset of at least 0, got %s+%s"
              .formatted(what, offset, count));
    }
  }

  /** Returns all of a table. */
  public static Region of(TableSpec table) {
    return ofColumns(table, 0, table.columns());
  }

  /** Returns some columns of a table, with all its rows. */
  public static Region ofColumns(TableSpec table, int columnOffset, int columns) {
    return new Region(columnOffset, columns, 0, table.rows());
  }

  /**
   * Returns the rows of each block but the last, if rows are cut into so many of them as TorchRec
   * cuts them: the last blocks may have fewer rows or none.
   */
  public static long blockRows(long rows, int blocks) {
    return (rows - 1) / blocks + 1;
  }

  /**
   * Returns whether each block has a row, if rows are cut into so many: 5 rows in 4 blocks are 2,
   * 2, 1 and none. FBGEMM's CPU kernels compute wrong weights, or crash, with a shard without rows.
   */
  public static boolean hasRowsForEach(long rows, int blocks) {
    return (rows - 1) / blockRows(rows, blocks) + 1 == blocks;
  }

  /** Returns the column behind the last one. */
  public int columnEnd() {
    return columnOffset + columns;
  }

  /** Returns the row behind the last one. */
  public long rowEnd() {
    return rowOffset + rows;
  }

  /** Returns how many elements are in both regions, exact up to 2^53. */
  public double commonElements(Region other) {
    int common =
        Math.min(columnEnd(), other.columnEnd()) - Math.max(columnOffset, other.columnOffset);
    long commonRows = Math.min(rowEnd(), other.rowEnd()) - Math.max(rowOffset, other.rowOffset);
    return Math.max(0, common) * (double) Math.max(0, commonRows);
  }

  /** Returns the elements that are in both regions, if there are any. */
  public Optional<Region> intersection(Region other) {
    int column = Math.max(columnOffset, other.columnOffset);
    int columnEnd = Math.min(columnEnd(), other.columnEnd());
    long row = Math.max(rowOffset, other.rowOffset);
    long rowEnd = Math.min(rowEnd(), other.rowEnd());
    return column < columnEnd && row < rowEnd
        ? Optional.of(new Region(column, columnEnd - column, row, rowEnd - row))
        : Optional.empty();
  }

  /** Returns the bytes of the region if it is one of a table, rounded up. */
  public long bytes(TableSpec table) {
    return table.bytes(rows, columns);
  }
}
