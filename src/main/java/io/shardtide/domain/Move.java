package io.shardtide.domain;

import java.util.Comparator;
import java.util.Objects;

/**
 * Columns of a table that go from one device to another.
 *
 * @param table name of the table
 * @param columnOffset first column, from 0
 * @param columns number of columns
 * @param rowOffset first row, from 0
 * @param rows number of rows that exist on both sides
 * @param fromDevice device that held them; it may be gone
 * @param toDevice device that holds them from now on
 * @param bytes bytes that move
 */
public record Move(
    String table,
    int columnOffset,
    int columns,
    long rowOffset,
    long rows,
    int fromDevice,
    int toDevice,
    long bytes) {

  /** The order of moves in a plan: by table, column, row. */
  public static final Comparator<Move> ORDER =
      Comparator.comparing(Move::table)
          .thenComparingInt(Move::columnOffset)
          .thenComparingLong(Move::rowOffset)
          .thenComparingInt(Move::toDevice);

  /** Checks that something moves. */
  public Move {
    Objects.requireNonNull(table, "table");
    if (fromDevice == toDevice || columns < 1 || rows < 1 || bytes < 0) {
      throw new IllegalArgumentException("A move that moves nothing: " + table);
    }
  }
}
