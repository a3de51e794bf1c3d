package io.shardtide.search.local;

import io.shardtide.search.ShapeCosts;

/**
 * A change that a search tries: up to four shards on at most two devices are replaced by shards of
 * other shapes. Removing a shard from one device and adding it to another is a move; moving part of
 * its columns is a split; adding them to another shard of the table is a merge; both ways, a swap.
 *
 * <p>One instance is filled again and again.
 */
final class SearchMove {
  private static final int MAX_EDITS = 4;

  private final ShapeCosts costs;
  int first;
  int second;
  int edits;
  final int[] table = new int[MAX_EDITS];
  final int[] device = new int[MAX_EDITS];
  final int[] before = new int[MAX_EDITS];
  final int[] after = new int[MAX_EDITS];

  /** Creates a move without edits. */
  SearchMove(ShapeCosts costs) {
    this.costs = costs;
  }

  /** Starts a move between two devices; the second may be the first. */
  void begin(int firstDevice, int secondDevice) {
    first = firstDevice;
    second = secondDevice;
    edits = 0;
  }

  /** Adds that one of a device's shards of a table gets other columns; 0 is no shard. */
  void edit(int ofTable, int onDevice, int columnsBefore, int columnsAfter) {
    table[edits] = ofTable;
    device[edits] = onDevice;
    before[edits] = costs.shape(ofTable, columnsBefore);
    after[edits++] = costs.shape(ofTable, columnsAfter);
  }

  /** Applies the move. */
  void apply(Assignment assignment) {
    for (int i = 0; i < edits; i++) {
      assignment.edit(table[i], device[i], before[i], after[i]);
    }
  }

  /** Returns the bytes that a device gains. */
  long bytes(int onDevice) {
    long gain = 0;
    for (int i = 0; i < edits; i++) {
      if (device[i] == onDevice) {
        gain += costs.load(after[i]).bytes() - costs.load(before[i]).bytes();
      }
    }
    return gain;
  }

  /** Returns the units of all-to-all load that a device gains. */
  int allToAllUnits(int onDevice) {
    int gain = 0;
    for (int i = 0; i < edits; i++) {
      if (device[i] == onDevice) {
        gain += costs.allToAllUnits(after[i]) - costs.allToAllUnits(before[i]);
      }
    }
    return gain;
  }

  /** Returns how many shards a device gains. */
  int shards(int onDevice) {
    int gain = 0;
    for (int i = 0; i < edits; i++) {
      if (device[i] == onDevice) {
        gain += (after[i] == ShapeCosts.NONE ? 0 : 1) - (before[i] == ShapeCosts.NONE ? 0 : 1);
      }
    }
    return gain;
  }

  /** Returns the columns that an edit adds. */
  int columns(int edit) {
    return costs.columns(after[edit]) - costs.columns(before[edit]);
  }

  /** Returns a new move that undoes this one. */
  SearchMove reverse() {
    SearchMove reverse = new SearchMove(costs);
    reverse.begin(second, first);
    for (int i = edits - 1; i >= 0; i--) {
      reverse.table[reverse.edits] = table[i];
      reverse.device[reverse.edits] = device[i];
      reverse.before[reverse.edits] = after[i];
      reverse.after[reverse.edits++] = before[i];
    }
    return reverse;
  }
}
