package io.shardtide.search.local;

/**
 * What a search tries: up to four shards on two devices, or on one, get other widths. A whole shard
 * that goes is a move, a part of one a split, columns that join another shard of their table a
 * merge, and shards both ways a swap.
 *
 * <p>One instance is filled again and again.
 */
final class SearchMove {
  private static final int MAX_EDITS = 4;

  int first;
  int second;
  int edits;
  final int[] table = new int[MAX_EDITS];
  final int[] device = new int[MAX_EDITS];
  final int[] before = new int[MAX_EDITS];
  final int[] after = new int[MAX_EDITS];

  /** Begins anew, between two devices; the second may be the first. */
  void begin(int firstDevice, int secondDevice) {
    first = firstDevice;
    second = secondDevice;
    edits = 0;
  }

  /** Adds that one of a device's shards of a table gets another width; 0 is no shard. */
  void edit(int ofTable, int onDevice, int widthBefore, int widthAfter) {
    table[edits] = ofTable;
    device[edits] = onDevice;
    before[edits] = widthBefore;
    after[edits++] = widthAfter;
  }

  /** Makes the change. */
  void make(Assignment assignment) {
    for (int i = 0; i < edits; i++) {
      assignment.edit(table[i], device[i], before[i], after[i]);
    }
  }

  /** Returns bytes that a device gains. */
  long bytes(Assignment assignment, int onDevice) {
    long gain = 0;
    for (int i = 0; i < edits; i++) {
      if (device[i] == onDevice) {
        gain += assignment.bytes(table[i], after[i]) - assignment.bytes(table[i], before[i]);
      }
    }
    return gain;
  }

  /** Returns columns that a device gains. */
  int columns(int onDevice) {
    int gain = 0;
    for (int i = 0; i < edits; i++) {
      if (device[i] == onDevice) {
        gain += after[i] - before[i];
      }
    }
    return gain;
  }

  /** Returns a new change that takes this one back. */
  SearchMove reverse() {
    SearchMove reverse = new SearchMove();
    reverse.begin(second, first);
    for (int i = edits - 1; i >= 0; i--) {
      reverse.edit(table[i], device[i], after[i], before[i]);
    }
    return reverse;
  }
}
