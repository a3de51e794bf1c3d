package io.shardtide.search;

/**
 * A change that a search tries: some tables get a way and places, or a collective is another one of
 * its candidates. A part that goes to another device, two that change places, a table that is cut
 * otherwise, copied or cached: all are that. One instance is filled again and again.
 */
final class Move {
  /** As many tables as a move changes. */
  static final int MOST_TABLES = 4;

  /** No collective changes. */
  static final int NO_COLLECTIVE = -1;

  int tables;
  final int[] table;
  final Way[] way;
  final int[][] places;

  /** The number of the collective that changes, or {@link #NO_COLLECTIVE}; see {@link State}. */
  int collective = NO_COLLECTIVE;

  /** Its candidate. */
  int candidate;

  Move() {
    this(MOST_TABLES);
  }

  private Move(int mostTables) {
    table = new int[mostTables];
    way = new Way[mostTables];
    places = new int[mostTables][4];
  }

  /** Starts a move. */
  void begin() {
    tables = 0;
    collective = NO_COLLECTIVE;
  }

  /** Starts a move that changes a collective. */
  void begin(int ofCollective, int toCandidate) {
    begin();
    collective = ofCollective;
    candidate = toCandidate;
  }

  /**
   * Adds that a table gets a way, and returns the array for the places of its parts.
   *
   * @param to the way; null takes all parts away
   */
  int[] add(int ofTable, Way to) {
    int c = tables++;
    table[c] = ofTable;
    way[c] = to;
    int parts = parts(c);
    if (places[c].length < parts) {
      places[c] = new int[Math.max(parts, 2 * places[c].length)];
    }
    return places[c];
  }

  /** Returns how many parts a table has that the move changes. */
  int parts(int c) {
    return way[c] == null ? 0 : way[c].parts;
  }

  /** Returns a new move that restores some tables as they are. */
  static Move restoring(State state, int... tables) {
    Move move = new Move(tables.length);
    for (int table : tables) {
      move.restore(state, table);
    }
    return move;
  }

  /** Adds that a table is sharded as in a state, and returns the array of its places. */
  int[] restore(State state, int ofTable) {
    return change(state, ofTable, state.way[ofTable]);
  }

  /** Adds that a part of a table goes to another place. */
  void shift(State state, int ofTable, int part, int to) {
    restore(state, ofTable)[part] = to;
  }

  /** Adds that a table gets a way at the places where it is, and returns the array of those. */
  int[] change(State state, int ofTable, Way to) {
    int[] at = add(ofTable, to);
    System.arraycopy(state.at[ofTable], 0, at, 0, to == null ? 0 : to.parts);
    return at;
  }

  /** Applies the change. */
  void apply(State state) {
    for (int c = 0; c < tables; c++) {
      state.set(table[c], way[c], places[c], parts(c));
    }
    choose(state.collectives.chosen);
  }

  /** Applies the change to the candidate of each collective. */
  void choose(int[] chosen) {
    if (collective != NO_COLLECTIVE) {
      chosen[collective] = candidate;
    }
  }
}
