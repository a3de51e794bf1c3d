package io.shardtide.search;

/** A plan that a search may come back to. */
final class Snapshot {
  private Way[] ways = {};
  private int[][] places = {};
  private int[] chosen;

  /** Takes the plan of a state, in which all tables have their parts. */
  void take(State state) {
    if (ways.length == 0) {
      ways = new Way[state.tables()];
      places = new int[ways.length][1];
    }
    for (int t = 0; t < ways.length; t++) {
      int count = state.count(t);
      ways[t] = state.way(t);
      if (places[t].length < count) {
        places[t] = new int[count];
      }
      System.arraycopy(state.placesOf(t), 0, places[t], 0, count);
    }
    chosen = state.chosen.clone();
  }

  /** Gives a state the plan. */
  void restore(State state) {
    for (int t = 0; t < ways.length; t++) {
      state.set(t, ways[t], places[t], ways[t].parts);
    }
    state.choose(chosen);
  }
}
