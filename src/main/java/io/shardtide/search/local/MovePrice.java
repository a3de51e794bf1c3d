package io.shardtide.search.local;

import io.shardtide.domain.ShardScope;

/**
 * The price of moving shards away from the running plan, in milliseconds a step: for each table and
 * place, a fixed price for each of the place's devices plus one for each column that the place does
 * not hold yet, on each device that gets a copy.
 */
final class MovePrice {
  private final CurrentPlan running;
  private final double[] msPerColumn;
  private final double msPerMove;
  private double ms;

  /**
   * @param running the running plan
   * @param msPerColumn price of a column of each table, in milliseconds a step; empty if no plan
   *     runs
   * @param msPerMove fixed price of a shard that moves, in milliseconds a step
   */
  MovePrice(CurrentPlan running, double[] msPerColumn, double msPerMove) {
    this.running = running;
    this.msPerColumn = msPerColumn;
    this.msPerMove = msPerMove;
  }

  /** Returns the price of all moves, in milliseconds a step. */
  double ms() {
    return ms;
  }

  /** Returns a calculator of the same prices, before any assignment. */
  MovePrice copy() {
    return new MovePrice(running, msPerColumn, msPerMove);
  }

  /** Recomputes the price from the assignment. */
  void refresh(Assignment assignment) {
    ms = 0;
    for (int t = 0; t < msPerColumn.length; t++) {
      if (running.has(t)) {
        for (int i = 0; i < assignment.shardsOfTable(t); i++) {
          int place = assignment.place(t, i);
          if (isFirst(assignment, t, i)) {
            ms += price(assignment.places(), t, place, assignment.columns(t, place));
          }
        }
      }
    }
  }

  /** Returns whether none of a table's parts before this one is at the same place. */
  private static boolean isFirst(Assignment assignment, int table, int shard) {
    for (int i = 0; i < shard; i++) {
      if (assignment.place(table, i) == assignment.place(table, shard)) {
        return false;
      }
    }
    return true;
  }

  private double price(Places places, int table, int place, int columns) {
    int more = columns == 0 ? 0 : columns - running.columns(table, place);
    if (more <= 0) {
      return 0;
    }
    int devices = places.size(place);
    int copies = places.scope(place) == ShardScope.COPIES ? devices : 1;
    return msPerMove * devices + msPerColumn[table] * more * copies;
  }

  /** Returns by how much a move raises the price. */
  double change(Assignment assignment, SearchMove move) {
    if (msPerColumn.length == 0) {
      return 0;
    }
    double more = 0;
    for (int i = 0; i < move.edits; i++) {
      if (running.has(move.table[i]) && !wasCounted(move, i)) {
        more += change(assignment, move, move.table[i], move.place[i]);
      }
    }
    return more;
  }

  private static boolean wasCounted(SearchMove move, int i) {
    for (int j = 0; j < i; j++) {
      if (move.table[j] == move.table[i] && move.place[j] == move.place[i]) {
        return true;
      }
    }
    return false;
  }

  private double change(Assignment assignment, SearchMove move, int table, int place) {
    int before = assignment.columns(table, place);
    int after = before;
    for (int i = 0; i < move.edits; i++) {
      if (move.table[i] == table && move.place[i] == place) {
        after += move.columns(i);
      }
    }
    Places places = assignment.places();
    return price(places, table, place, after) - price(places, table, place, before);
  }

  /** Updates the price for a move that is about to be applied. */
  void apply(Assignment assignment, SearchMove move) {
    ms += change(assignment, move);
  }
}
