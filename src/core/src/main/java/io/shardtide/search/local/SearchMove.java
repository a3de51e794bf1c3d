package io.shardtide.search.local;

import io.shardtide.cost.ShapeLoad;
import io.shardtide.search.ShapeCosts;
import java.util.Arrays;

/**
 * A change that a search tries: parts are replaced by parts of other shapes at the same places.
 * Most changes are local: up to four parts on at most two devices. Removing a part from one device
 * and adding it to another is a move; moving some of its columns is a split; adding them to another
 * part of the table is a merge; both ways, a swap. A table that is sharded in another way changes
 * any number of places.
 *
 * <p>One instance is filled again and again.
 */
final class SearchMove {
  /** Of a move that is not local. */
  private static final int ANYWHERE = -1;

  private final ShapeCosts costs;

  /** The two devices of a local move. */
  int first;

  int second;
  int edits;
  int[] table = new int[4];
  int[] place = new int[4];
  int[] before = new int[4];
  int[] after = new int[4];

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

  /** Starts a move that may change any place. */
  void begin() {
    begin(ANYWHERE, ANYWHERE);
  }

  /** Returns whether the move changes parts on at most two devices, which it names. */
  boolean isLocal() {
    return first != ANYWHERE;
  }

  /** Adds that one of a device's parts of a table gets other columns; 0 is no part. */
  void edit(int ofTable, int onDevice, int columnsBefore, int columnsAfter) {
    replace(
        ofTable, onDevice, costs.shape(ofTable, columnsBefore), costs.shape(ofTable, columnsAfter));
  }

  /** Adds that a part of a table goes from one place to another. */
  void shift(int ofTable, int shape, int from, int to) {
    replace(ofTable, from, shape, ShapeCosts.NONE);
    replace(ofTable, to, ShapeCosts.NONE, shape);
  }

  /** Adds that one of a place's parts of a table gets another shape. */
  void replace(int ofTable, int atPlace, int shapeBefore, int shapeAfter) {
    if (edits == table.length) {
      table = Arrays.copyOf(table, 2 * edits);
      place = Arrays.copyOf(place, 2 * edits);
      before = Arrays.copyOf(before, 2 * edits);
      after = Arrays.copyOf(after, 2 * edits);
    }
    table[edits] = ofTable;
    place[edits] = atPlace;
    before[edits] = shapeBefore;
    after[edits++] = shapeAfter;
  }

  /** Adds that a table has no part anywhere. */
  void removeAll(int ofTable, Assignment assignment) {
    for (int i = 0; i < assignment.shardsOfTable(ofTable); i++) {
      replace(
          ofTable,
          assignment.place(ofTable, i),
          assignment.shapeOfTable(ofTable, i),
          ShapeCosts.NONE);
    }
  }

  /** Applies the move. */
  void apply(Assignment assignment) {
    for (int i = 0; i < edits; i++) {
      assignment.edit(table[i], place[i], before[i], after[i]);
    }
  }

  /** Returns whether the move changes a part that a device works on. */
  boolean changes(int device, Places places) {
    for (int i = 0; i < edits; i++) {
      if (places.covers(place[i], device)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the bytes that a device gains. */
  long bytes(int onDevice) {
    long gain = 0;
    for (int i = 0; i < edits; i++) {
      if (place[i] == onDevice) {
        gain += costs.load(after[i]).bytes() - costs.load(before[i]).bytes();
      }
    }
    return gain;
  }

  /** Returns the bytes of host memory that a device gains. */
  long hostBytes(int onDevice) {
    long gain = 0;
    for (int i = 0; i < edits; i++) {
      if (place[i] == onDevice) {
        gain += costs.load(after[i]).hostBytes() - costs.load(before[i]).hostBytes();
      }
    }
    return gain;
  }

  /** Returns whether each device has room for what it gains. */
  boolean fits(Assignment assignment) {
    Places places = assignment.places();
    long[] bytes = new long[places.devices()];
    long[] hostBytes = new long[places.devices()];
    for (int i = 0; i < edits; i++) {
      ShapeLoad added = costs.load(after[i]);
      ShapeLoad removed = costs.load(before[i]);
      for (int d = places.first(place[i]); d < places.end(place[i]); d++) {
        bytes[d] += added.bytes() - removed.bytes();
        hostBytes[d] += added.hostBytes() - removed.hostBytes();
      }
    }
    for (int d = 0; d < bytes.length; d++) {
      if (!assignment.hasRoom(d, bytes[d], hostBytes[d])) {
        return false;
      }
    }
    return true;
  }

  /** Returns the units of all-to-all load that a device gains. */
  int allToAllUnits(int onDevice) {
    int gain = 0;
    for (int i = 0; i < edits; i++) {
      if (place[i] == onDevice) {
        gain += costs.allToAllUnits(after[i]) - costs.allToAllUnits(before[i]);
      }
    }
    return gain;
  }

  /** Returns how many shards a device gains. */
  int shards(int onDevice) {
    int gain = 0;
    for (int i = 0; i < edits; i++) {
      if (place[i] == onDevice) {
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
      reverse.replace(table[i], place[i], after[i], before[i]);
    }
    return reverse;
  }
}
