package io.shardtide.search.local;

/**
 * What it costs to leave the running plan: milliseconds a step for every column that is on a device
 * which does not hold it yet.
 */
final class MovePrice {
  private final CurrentPlan running;
  private final double[] msPerColumn;
  private final double msPerMove;
  private double ms;

  /**
   * @param running what runs now
   * @param msPerColumn what moving a column of each table costs, in milliseconds a step; empty if
   *     nothing runs
   * @param msPerMove what each shard that moves costs besides, in milliseconds a step
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

  /** Returns the same price, of nothing yet. */
  MovePrice anew() {
    return new MovePrice(running, msPerColumn, msPerMove);
  }

  /** Computes the price from the assignment. */
  void refresh(Assignment assignment) {
    ms = 0;
    for (int t = 0; t < msPerColumn.length; t++) {
      if (running.has(t)) {
        for (int i = 0; i < assignment.shardsOfTable(t); i++) {
          int device = assignment.device(t, i);
          if (isFirst(assignment, t, i)) {
            ms += moved(t, device, assignment.width(t, device));
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

  private double moved(int table, int device, int width) {
    int more = width == 0 ? 0 : width - running.width(table, device);
    return more > 0 ? msPerMove + msPerColumn[table] * more : 0;
  }

  /** Returns how much dearer the moves become with a change. */
  double change(Assignment assignment, SearchMove change) {
    if (msPerColumn.length == 0) {
      return 0;
    }
    double more = 0;
    for (int i = 0; i < change.edits; i++) {
      if (running.has(change.table[i]) && !wasCounted(change, i)) {
        more += change(assignment, change, change.table[i], change.device[i]);
      }
    }
    return more;
  }

  private static boolean wasCounted(SearchMove change, int i) {
    for (int j = 0; j < i; j++) {
      if (change.table[j] == change.table[i] && change.device[j] == change.device[i]) {
        return true;
      }
    }
    return false;
  }

  private double change(Assignment assignment, SearchMove change, int table, int device) {
    int before = assignment.width(table, device);
    int after = before;
    for (int i = 0; i < change.edits; i++) {
      if (change.table[i] == table && change.device[i] == device) {
        after += change.after[i] - change.before[i];
      }
    }
    return moved(table, device, after) - moved(table, device, before);
  }

  /** Takes over a change that is about to be made. */
  void make(Assignment assignment, SearchMove change) {
    ms += change(assignment, change);
  }
}
