package io.shardtide.search.local;

import io.shardtide.cost.ShapeLoad;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.ShapeCosts;
import java.util.function.ToLongFunction;

/** Makes a running plan fit devices that have less memory, or tables that have become larger. */
final class Eviction {
  private final Assignment assignment;

  Eviction(Assignment assignment) {
    this.assignment = assignment;
  }

  /**
   * Removes parts from devices whose memory, or host memory, is exceeded: each time the smallest
   * that is enough, or else the largest. Parts on one device go before split ones, because less has
   * to move.
   */
  void run() {
    for (int d = 0; d < assignment.devices(); d++) {
      while (assignment.excess(d) > 0) {
        remove(d, assignment.excess(d), ShapeLoad::bytes);
      }
      while (assignment.hostExcess(d) > 0) {
        remove(d, assignment.hostExcess(d), ShapeLoad::hostBytes);
      }
    }
  }

  /** Removes a part of a device that has some of the bytes that are too many. */
  private void remove(int device, long over, ToLongFunction<ShapeLoad> bytes) {
    for (ShardScope scope : ShardScope.values()) {
      int place = assignment.places().of(scope, device);
      int chosen = smallestOf(place, over, bytes);
      if (chosen >= 0) {
        int table = assignment.table(place, chosen);
        if (scope == ShardScope.DEVICE) {
          assignment.edit(table, place, assignment.shapeOfPlace(place, chosen), ShapeCosts.NONE);
        } else {
          OptionPlacer.clear(assignment, table);
        }
        return;
      }
    }
    throw new IllegalStateException("a device without parts must not exceed its memory");
  }

  /** Returns the smallest part of a place with so many bytes, or else the largest with any. */
  private int smallestOf(int place, long least, ToLongFunction<ShapeLoad> of) {
    int chosen = -1;
    long best = 0;
    for (int i = 0; i < assignment.shardsOfPlace(place); i++) {
      long bytes = of.applyAsLong(assignment.costs().load(assignment.shapeOfPlace(place, i)));
      boolean isBetter = best >= least ? bytes >= least && bytes < best : bytes > best;
      if (isBetter) {
        chosen = i;
        best = bytes;
      }
    }
    return chosen;
  }
}
