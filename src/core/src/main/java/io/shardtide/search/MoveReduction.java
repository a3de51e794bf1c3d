package io.shardtide.search;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * Takes moves back that do not pay: a search makes many of them on the way. Tables are sharded as
 * they were, one by one and in pairs that have changed places, as long as that makes the cost
 * smaller.
 *
 * @param state the state; changed only through its objective
 * @param objective its cost, with the price of moves
 * @param earlier the state before the search
 */
record MoveReduction(State state, Objective objective, State earlier) {
  /** Takes back what does not pay. */
  void run() {
    boolean isSmaller = true;
    while (isSmaller) {
      isSmaller = false;
      List<Integer> changed = changed();
      for (int table : changed) {
        isSmaller |= takeBack(table, table);
      }
      if (!isSmaller) {
        isSmaller = takePairBack(changed);
      }
    }
  }

  private List<Integer> changed() {
    return IntStream.range(0, state.tables()).filter(this::isChanged).boxed().toList();
  }

  private boolean isChanged(int table) {
    return state.way[table] != earlier.way[table]
        || IntStream.range(0, earlier.count[table])
            .anyMatch(i -> !state.isAt(table, earlier.at[table][i]));
  }

  /** Takes back the first pair that pays: a table, and one that has left a place that it took. */
  private boolean takePairBack(List<Integer> changed) {
    Map<Integer, List<Integer>> left = new HashMap<>();
    for (int table : changed) {
      for (int i = 0; i < earlier.count[table]; i++) {
        int place = earlier.at[table][i];
        if (!state.isAt(table, place)) {
          left.computeIfAbsent(place, p -> new ArrayList<>()).add(table);
        }
      }
    }
    for (int table : changed) {
      SortedSet<Integer> others = new TreeSet<>();
      for (int i = 0; i < state.count[table]; i++) {
        int place = state.at[table][i];
        if (!earlier.isAt(table, place)) {
          others.addAll(left.getOrDefault(place, List.of()));
        }
      }
      for (int other : others) {
        if (takeBack(table, other)) {
          return true;
        }
      }
    }
    return false;
  }

  /** Takes back two tables, or one table twice, if that makes the cost smaller. */
  private boolean takeBack(int table, int other) {
    Move move = new Move();
    move.restore(earlier, table);
    if (other != table) {
      move.restore(earlier, other);
    }
    if (objective.evaluate(move) == Double.POSITIVE_INFINITY
        || objective.movedCostMs >= objective.costMs) {
      return false;
    }
    objective.apply(move);
    return true;
  }
}
