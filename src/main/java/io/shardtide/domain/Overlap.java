package io.shardtide.domain;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * Columns and rows that two plans both hold, each on one device.
 *
 * @param table name of the table
 * @param columnOffset first column, from 0
 * @param columns number of columns
 * @param rowOffset first row, from 0
 * @param rows number of rows
 * @param fromDevice device that holds them in the first plan
 * @param toDevice device that holds them in the second
 * @param bytes their bytes
 */
public record Overlap(
    String table,
    int columnOffset,
    int columns,
    long rowOffset,
    long rows,
    int fromDevice,
    int toDevice,
    long bytes) {

  /**
   * Returns everything that two plans both hold. A table that is new, or a row that was added, is
   * in no overlap.
   *
   * @param previous shards of the first plan
   * @param next shards of the second plan
   * @param tables the tables of the second plan by name
   */
  public static List<Overlap> between(
      List<Shard> previous, List<Shard> next, Map<String, TableSpec> tables) {
    return between(previous, next, table -> tables.get(table).bytesPerElement());
  }

  /** Returns the same, of tables whose bytes per element a function says. */
  static List<Overlap> between(
      List<Shard> previous, List<Shard> next, ToDoubleFunction<String> bytesPerElement) {
    Map<String, List<Shard>> before = new HashMap<>();
    for (Shard shard : previous) {
      before.computeIfAbsent(shard.table(), name -> new ArrayList<>()).add(shard);
    }
    List<Overlap> overlaps = new ArrayList<>();
    for (Shard to : next) {
      for (Shard from : before.getOrDefault(to.table(), List.of())) {
        int column = Math.max(from.columnOffset(), to.columnOffset());
        int columnEnd =
            Math.min(from.columnOffset() + from.columns(), to.columnOffset() + to.columns());
        long row = Math.max(from.rowOffset(), to.rowOffset());
        long rowEnd = Math.min(from.rowOffset() + from.rows(), to.rowOffset() + to.rows());
        if (column < columnEnd && row < rowEnd) {
          int columns = columnEnd - column;
          long rows = rowEnd - row;
          double bytes = (double) rows * columns * bytesPerElement.applyAsDouble(to.table());
          overlaps.add(
              new Overlap(
                  to.table(),
                  column,
                  columns,
                  row,
                  rows,
                  from.device(),
                  to.device(),
                  (long) Math.ceil(bytes)));
        }
      }
    }
    return overlaps;
  }

  /** Returns those of overlaps that change their device, in {@link Move#ORDER}. */
  public static List<Move> moves(List<Overlap> overlaps) {
    return overlaps.stream()
        .filter(o -> o.fromDevice() != o.toDevice())
        .map(
            o ->
                new Move(
                    o.table(),
                    o.columnOffset(),
                    o.columns(),
                    o.rowOffset(),
                    o.rows(),
                    o.fromDevice(),
                    o.toDevice(),
                    o.bytes()))
        .sorted(Move.ORDER)
        .toList();
  }

  /**
   * Returns an order in which what changes its device can be moved with no device above its memory.
   *
   * @param overlaps what two plans both hold
   * @param cluster the devices of the second plan
   * @return steps that name moves by their place in {@link #moves(List)}
   */
  public static List<MoveStep> moveOrder(List<Overlap> overlaps, ClusterSpec cluster) {
    return MoveOrder.of(overlaps, moves(overlaps), cluster);
  }
}
