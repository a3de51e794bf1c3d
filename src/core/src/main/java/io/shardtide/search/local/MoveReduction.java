package io.shardtide.search.local;

import io.shardtide.search.ShapeCosts;
import java.util.ArrayList;
import java.util.List;

/**
 * Takes moves back that do not pay: a search makes many of them on the way. Tables are sharded as
 * they were, one by one and in pairs that have changed places, as long as that makes the cost
 * smaller.
 */
final class MoveReduction {
  private final Assignment assignment;
  private final Objective objective;
  private final Assignment earlier;
  private final SearchMove move;

  /**
   * @param assignment the assignment; changed only through its objective
   * @param objective its cost, with the price of moves
   * @param earlier the assignment before the search
   */
  MoveReduction(Assignment assignment, Objective objective, Assignment earlier) {
    this.assignment = assignment;
    this.objective = objective;
    this.earlier = earlier;
    move = new SearchMove(assignment.costs());
  }

  /** Takes back what does not pay. */
  void run() {
    boolean isSmaller = true;
    while (isSmaller) {
      isSmaller = false;
      List<Integer> changed = changed();
      for (int table : changed) {
        isSmaller |= takeBack(table, table);
      }
      for (int i = 0; i < changed.size() && !isSmaller; i++) {
        for (int j = 0; j < changed.size(); j++) {
          if (hasTakenPlaceOf(changed.get(i), changed.get(j))) {
            isSmaller |= takeBack(changed.get(i), changed.get(j));
          }
        }
      }
    }
  }

  private List<Integer> changed() {
    List<Integer> changed = new ArrayList<>();
    for (int t = 0; t < assignment.tables(); t++) {
      if (isChanged(t)) {
        changed.add(t);
      }
    }
    return changed;
  }

  private boolean isChanged(int table) {
    if (assignment.shardsOfTable(table) != earlier.shardsOfTable(table)) {
      return true;
    }
    for (int i = 0; i < earlier.shardsOfTable(table); i++) {
      int place = earlier.place(table, i);
      boolean isSame =
          assignment.columns(table, place) == earlier.columns(table, place)
              && isCachedAsBefore(table, place);
      if (!isSame) {
        return true;
      }
    }
    return false;
  }

  private boolean isCachedAsBefore(int table, int place) {
    ShapeCosts costs = assignment.costs();
    return costs
        .part(assignment.shape(table, place))
        .cacheShare()
        .equals(costs.part(earlier.shape(table, place)).cacheShare());
  }

  /** Returns whether a table has come to a place that another one has left. */
  private boolean hasTakenPlaceOf(int table, int other) {
    if (table == other) {
      return false;
    }
    for (int i = 0; i < assignment.shardsOfTable(table); i++) {
      int place = assignment.place(table, i);
      if (earlier.columns(table, place) == 0
          && earlier.columns(other, place) > assignment.columns(other, place)) {
        return true;
      }
    }
    return false;
  }

  /** Takes back two tables, or one table twice, if that makes the cost smaller. */
  private boolean takeBack(int table, int other) {
    move.begin();
    add(table);
    if (other != table) {
      add(other);
    }
    if (!move.fits(assignment)) {
      return false;
    }
    objective.evaluate(move, Double.POSITIVE_INFINITY);
    if (objective.movedCostMs() >= objective.costMs()) {
      return false;
    }
    objective.apply(move);
    return true;
  }

  private void add(int table) {
    move.removeAll(table, assignment);
    for (int i = 0; i < earlier.shardsOfTable(table); i++) {
      move.replace(table, earlier.place(table, i), ShapeCosts.NONE, earlier.shapeOfTable(table, i));
    }
  }
}
