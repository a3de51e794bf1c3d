package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.Synchronization;
import io.shardtide.search.ShapeCosts;
import java.util.Arrays;

/**
 * What keeping replica groups equal adds to a step: it grows with the bytes of the fullest device.
 */
final class SynchronizationPrice {
  private final Synchronization synchronization;
  private final CostEvaluator evaluator;
  private final boolean isFree;

  /** The bytes that each device synchronizes, and after the move that is being priced. */
  private final long[] bytes;

  private final long[] moved;
  private long most;
  private double ms;

  /**
   * @param devices devices of a group
   */
  SynchronizationPrice(Synchronization synchronization, CostEvaluator evaluator, int devices) {
    this.synchronization = synchronization;
    this.evaluator = evaluator;
    isFree = !synchronization.groups().areSeveral();
    bytes = new long[devices];
    moved = new long[devices];
  }

  /** Returns the price in milliseconds a step. */
  double ms() {
    return ms;
  }

  /** Returns a calculator of the same price, before any assignment. */
  SynchronizationPrice copy() {
    return new SynchronizationPrice(synchronization, evaluator, bytes.length);
  }

  /** Recomputes the price from the assignment. */
  void refresh(Assignment assignment) {
    if (isFree) {
      return;
    }
    Places places = assignment.places();
    Arrays.fill(bytes, 0);
    for (int place = 0; place < places.count(); place++) {
      for (int i = 0; i < assignment.shardsOfPlace(place); i++) {
        add(bytes, places, place, assignment.costs().load(assignment.shapeOfPlace(place, i)), 1);
      }
    }
    most = largest(bytes);
    ms = ms(most);
  }

  /** Returns by how much a move raises the price. */
  double change(Assignment assignment, SearchMove move) {
    if (isFree) {
      return 0;
    }
    long after = largest(after(assignment, move));
    return after == most ? 0 : ms(after) - ms;
  }

  /** Updates the price for a move that is about to be applied. */
  void apply(Assignment assignment, SearchMove move) {
    if (isFree) {
      return;
    }
    System.arraycopy(after(assignment, move), 0, bytes, 0, bytes.length);
    most = largest(bytes);
    ms = ms(most);
  }

  private long[] after(Assignment assignment, SearchMove move) {
    System.arraycopy(bytes, 0, moved, 0, bytes.length);
    ShapeCosts costs = assignment.costs();
    for (int i = 0; i < move.edits; i++) {
      add(moved, assignment.places(), move.place[i], costs.load(move.before[i]), -1);
      add(moved, assignment.places(), move.place[i], costs.load(move.after[i]), 1);
    }
    return moved;
  }

  private static void add(long[] bytes, Places places, int place, ShapeLoad load, int sign) {
    for (int d = places.first(place); d < places.end(place); d++) {
      bytes[d] += sign * load.tableBytes();
    }
  }

  private static long largest(long[] bytes) {
    long largest = 0;
    for (long ofDevice : bytes) {
      largest = Math.max(largest, ofDevice);
    }
    return largest;
  }

  private double ms(long fullest) {
    return synchronization.ms(evaluator, (double) fullest) / synchronization.steps();
  }
}
