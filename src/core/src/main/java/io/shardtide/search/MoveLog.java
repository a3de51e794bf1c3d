package io.shardtide.search;

import java.util.Arrays;

/** The moves since a plan, to go back to it. Allocates only to grow. */
final class MoveLog {
  private int[] numbers = new int[256];
  private int size;
  private Way[] ways = new Way[64];
  private int entries;

  /** Returns the number of recorded changes, to come back to now with {@link #undo}. */
  int position() {
    return entries;
  }

  /** Forgets all moves. */
  void clear() {
    size = 0;
    entries = 0;
  }

  /** Records what a move is about to change. */
  void record(State state, Move move) {
    for (int c = 0; c < move.tables; c++) {
      int table = move.table[c];
      int count = state.count[table];
      reserve(count + 2);
      System.arraycopy(state.at[table], 0, numbers, size, count);
      size += count;
      numbers[size++] = count;
      numbers[size++] = table;
      push(state.way[table]);
    }
    if (move.collective != Move.NO_COLLECTIVE) {
      reserve(2);
      numbers[size++] = state.collectives.chosen[move.collective];
      numbers[size++] = -1 - move.collective;
      push(null);
    }
  }

  private void push(Way way) {
    if (entries == ways.length) {
      ways = Arrays.copyOf(ways, 2 * entries);
    }
    ways[entries++] = way;
  }

  private void reserve(int more) {
    if (size + more > numbers.length) {
      numbers = Arrays.copyOf(numbers, Math.max(2 * numbers.length, size + more));
    }
  }

  /**
   * Undoes recorded moves, the last one first.
   *
   * @param to the {@link #position} to go back to
   */
  void undo(State state, int to) {
    int[] at = new int[4];
    while (entries > to) {
      Way way = ways[--entries];
      int table = numbers[--size];
      if (table < 0) {
        state.collectives.chosen[-1 - table] = numbers[--size];
        continue;
      }
      int count = numbers[--size];
      size -= count;
      if (at.length < count) {
        at = new int[count];
      }
      System.arraycopy(numbers, size, at, 0, count);
      if (way == null) {
        state.clear(table);
      } else {
        state.set(table, way, at, count);
      }
    }
  }
}
