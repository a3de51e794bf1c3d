package io.shardtide.search;

import io.shardtide.cost.Tiers;
import io.shardtide.workload.ShardScope;

/** Makes a running plan fit devices that have less memory, or tables that have become larger. */
record PartRemoval(State state) {

  /**
   * Removes parts from devices of which a tier of memory is exceeded: each time the smallest that
   * is enough, or else the largest. Parts on one device go before split ones, because less has to
   * move.
   */
  void run() {
    for (int d = 0; d < state.devices; d++) {
      for (int tier = 0; tier < Tiers.COUNT; tier++) {
        while (state.bytes[tier][d] > state.memory[tier][d]) {
          remove(d, state.bytes[tier][d] - state.memory[tier][d], tier);
        }
      }
    }
  }

  /** Removes a part of a device that has some of the bytes that are too many. */
  private void remove(int device, long over, int tier) {
    for (ShardScope scope : ShardScope.values()) {
      int place = state.places.of(scope, device);
      int chosen = smallestOf(place, over, tier);
      if (chosen >= 0) {
        int table = state.tableAt[place][chosen];
        if (scope == ShardScope.DEVICE && state.way[table].onAll == null) {
          state.remove(table, state.partAt[place][chosen]);
        } else {
          state.clear(table);
        }
        return;
      }
    }
    removeFromAll();
  }

  /** Removes a table of which all devices have rows. */
  private void removeFromAll() {
    for (int t = 0; t < state.tables(); t++) {
      if (state.way[t] != null && state.way[t].onAll != null) {
        state.clear(t);
        return;
      }
    }
    throw new IllegalStateException("a device without parts must not exceed its memory");
  }

  /** Returns the smallest part of a place with so many bytes, or else the largest with any. */
  private int smallestOf(int place, long least, int tier) {
    int chosen = -1;
    long best = 0;
    for (int i = 0; i < state.countAt[place]; i++) {
      long bytes = state.way[state.tableAt[place][i]].memory[tier];
      boolean isBetter = best >= least ? bytes >= least && bytes < best : bytes > best;
      if (isBetter) {
        chosen = i;
        best = bytes;
      }
    }
    return chosen;
  }
}
