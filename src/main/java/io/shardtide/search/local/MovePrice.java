package io.shardtide.search.local;

/**
 * The price of moving shards away from the running plan, in milliseconds a step: for each table and
 * device, a fixed price plus one for each column that the device does not hold yet.
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
          int device = assignment.device(t, i);
          if (isFirst(assignment, t, i)) {
            ms += price(t, device, assignment.columns(t, device));
          }
        }
      }
    }
  }

  /** Returns whether none of a table's shards before this one is on the same device. */
  private static boolean isFirst(Assignment assignment, int table, int shard) {
    for (int i = 0; i < shard; i++) {
      if (assignment.device(table, i) == assignment.device(table, shard)) {
        return false;
      }
    }
    return true;
  }

  private double price(int table, int device, int columns) {
    int more = columns == 0 ? 0 : columns - running.columns(table, device);
    return more > 0 ? msPerMove + msPerColumn[table] * more : 0;
  }

  /** Returns by how much a move raises the price. */
  double change(Assignment assignment, SearchMove move) {
    if (msPerColumn.length == 0) {
      return 0;
    }
    double more = 0;
    for (int i = 0; i < move.edits; i++) {
      if (running.has(move.table[i]) && !wasCounted(move, i)) {
        more += change(assignment, move, move.table[i], move.device[i]);
      }
    }
    return more;
  }

  private static boolean wasCounted(SearchMove move, int i) {
    for (int j = 0; j < i; j++) {
      if (move.table[j] == move.table[i] && move.device[j] == move.device[i]) {
        return true;
      }
    }
    return false;
  }

  private double change(Assignment assignment, SearchMove move, int table, int device) {
    int before = assignment.columns(table, device);
    int after = before;
    for (int i = 0; i < move.edits; i++) {
      if (move.table[i] == table && move.device[i] == device) {
        after += move.columns(i);
      }
    }
    return price(table, device, after) - price(table, device, before);
  }

  /** Updates the price for a move that is about to be applied. */
  void apply(Assignment assignment, SearchMove move) {
    ms += change(assignment, move);
  }
}
