package io.shardtide.search;

import io.shardtide.cost.Tiers;
import io.shardtide.workload.ShardScope;
import java.util.Arrays;

/**
 * What a move changes: the devices, and for each what it gains. Filled again and again, without
 * allocation.
 */
final class MoveDelta {
  private final State state;
  private final Places places;

  /** Number of devices that the move changes. */
  int count;

  /** Those devices, in the order in which the move names them. */
  final int[] device;

  // Of each of those devices, what it gains.
  final int[] units;
  final long[][] bytes;
  final int[] parts;

  /** All-to-all loads that nodes gain, and whether any load crosses the border of a node. */
  final int[] unitsOfNode;

  boolean changesNodes;

  /** What the loads of collectives gain. */
  final Communication.Loads collectives;

  /** Whether parts that are split or copied change. */
  boolean changesSplit;

  private final int[] indexOf;

  /** Devices that the move changes have the stamp of now. */
  final int[] stampOf;

  int stamp;

  // Parts that are taken away or added: the way of each, its place, and 1 or -1.
  private Way[] edit = new Way[16];
  private int[] editPlace = new int[16];
  private int[] editSign = new int[16];
  private int edits;

  MoveDelta(State state) {
    this.state = state;
    places = state.places;
    int devices = state.devices;
    device = new int[devices];
    units = new int[devices];
    bytes = new long[devices][Tiers.COUNT];
    parts = new int[devices];
    indexOf = new int[devices];
    stampOf = new int[devices];
    unitsOfNode = new int[places.nodes];
    collectives = new Communication.Loads(places.nodes);
  }

  /** Returns whether the move changes a device. */
  boolean touches(int d) {
    return stampOf[d] == stamp;
  }

  /** Returns the first device that the move changes, or -1. */
  int first() {
    return count > 0 ? device[0] : -1;
  }

  /** Returns the second device that the move changes, or the first if it changes one. */
  int second() {
    return count > 1 ? device[1] : first();
  }

  /**
   * Collects what a move changes.
   *
   * @param mostUnits all-to-all load above which no device may gain more
   * @return whether each device has room for what it gains
   */
  boolean collect(Move move, int mostUnits) {
    collect(move);
    for (int i = 0; i < count; i++) {
      boolean hasRoom =
          state.hasRoom(device[i], bytes[i])
              && (units[i] <= 0 || state.units[device[i]] + units[i] <= mostUnits);
      if (!hasRoom) {
        return false;
      }
    }
    return true;
  }

  /** Collects what a move changes, whether there is room for it or not. */
  void collect(Move move) {
    count = 0;
    edits = 0;
    collectives.clear();
    changesSplit = false;
    stamp++;
    Arrays.fill(unitsOfNode, 0);
    for (int c = 0; c < move.tables; c++) {
      collectTable(move, c);
    }
    changesNodes = collectives.totalUnits != 0;
    for (int node = 0; node < unitsOfNode.length && !changesNodes; node++) {
      changesNodes = unitsOfNode[node] != 0;
    }
  }

  private void collectTable(Move move, int c) {
    int table = move.table[c];
    Way before = state.way[table];
    Way after = move.way[c];
    int[] to = move.places[c];
    if (before == after && after != null && state.count[table] == after.parts) {
      int[] from = state.at[table];
      for (int i = 0; i < after.parts; i++) {
        if (from[i] != to[i]) {
          add(before, from[i], -1);
          add(after, to[i], 1);
        }
      }
      return;
    }
    for (int i = 0; i < state.count[table]; i++) {
      add(before, state.at[table][i], -1);
    }
    for (int i = 0; i < move.parts(c); i++) {
      add(after, to[i], 1);
    }
    Way allBefore = before == null ? null : before.onAll;
    Way allAfter = after == null ? null : after.onAll;
    if (allBefore != allAfter) {
      int all = places.firstOf(ShardScope.COPIES);
      if (allBefore != null) {
        add(allBefore, all, -1);
      }
      if (allAfter != null) {
        add(allAfter, all, 1);
      }
    }
  }

  private void add(Way way, int place, int sign) {
    if (edits == edit.length) {
      int size = 2 * edits;
      edit = Arrays.copyOf(edit, size);
      editPlace = Arrays.copyOf(editPlace, size);
      editSign = Arrays.copyOf(editSign, size);
    }
    edit[edits] = way;
    editPlace[edits] = place;
    editSign[edits++] = sign;
    changesSplit |= collectives.add(way, places, place, sign);
    for (int d = places.first[place]; d < places.end[place]; d++) {
      int i;
      if (stampOf[d] == stamp) {
        i = indexOf[d];
      } else {
        stampOf[d] = stamp;
        i = count++;
        indexOf[d] = i;
        device[i] = d;
        units[i] = 0;
        Arrays.fill(bytes[i], 0);
        parts[i] = 0;
      }
      units[i] += sign * way.units;
      unitsOfNode[places.nodeOf[d]] += sign * way.units;
      Tiers.add(bytes[i], way.load.memory(), sign);
      parts[i] += sign;
    }
  }

  /**
   * Computes the sum of towers of a device after the move.
   *
   * @param sum receives it
   * @return the launch groups that change, one bit each
   */
  int sum(int d, double[] sum) {
    System.arraycopy(state.sums, d * sum.length, sum, 0, sum.length);
    int changed = 0;
    for (int e = 0; e < edits; e++) {
      if (places.covers(editPlace[e], d)) {
        State.shift(sum, 0, edit[e], editSign[e]);
        changed |= edit[e].launchGroups;
      }
    }
    return changed;
  }
}
