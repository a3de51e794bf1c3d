package io.shardtide.domain;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What changes its device between two plans. */
public final class Moves {
  private Moves() {}

  /**
   * Returns what each device must fetch: the columns and rows that both plans hold, on different
   * devices. A table that is new, or a row that was added, is initialised in place and moves
   * nothing.
   *
   * @param previous shards of the plan that runs
   * @param next shards of the new plan
   * @param tables the tables of the new plan by name
   * @return the moves in {@link Move#ORDER}
   */
  public static List<Move> between(
      List<Shard> previous, List<Shard> next, Map<String, TableSpec> tables) {
    Map<String, List<Shard>> before = new HashMap<>();
    for (Shard shard : previous) {
      before.computeIfAbsent(shard.table(), name -> new ArrayList<>()).add(shard);
    }
    List<Move> moves = new ArrayList<>();
    for (Shard to : next) {
      for (Shard from : before.getOrDefault(to.table(), List.of())) {
        int column = Math.max(from.columnOffset(), to.columnOffset());
        int columns =
            Math.min(from.columnOffset() + from.columns(), to.columnOffset() + to.columns())
                - column;
        long row = Math.max(from.rowOffset(), to.rowOffset());
        long rows = Math.min(from.rowOffset() + from.rows(), to.rowOffset() + to.rows()) - row;
        if (columns > 0 && rows > 0 && from.device() != to.device()) {
          double bytes = (double) rows * columns * tables.get(to.table()).bytesPerElement();
          moves.add(
              new Move(
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
    moves.sort(Move.ORDER);
    return moves;
  }
}
