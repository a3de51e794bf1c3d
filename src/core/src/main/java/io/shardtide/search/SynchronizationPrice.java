package io.shardtide.search;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.Synchronization;
import io.shardtide.cost.Tiers;

/**
 * What keeping replica groups equal adds to a step: it grows with the bytes of the fullest device.
 */
final class SynchronizationPrice {
  private final Synchronization synchronization;
  private final CostEvaluator evaluator;
  private final boolean isFree;

  private long most;

  /** The price of the state, in milliseconds a step. */
  double ms;

  SynchronizationPrice(Synchronization synchronization, CostEvaluator evaluator) {
    this.synchronization = synchronization;
    this.evaluator = evaluator;
    isFree = !synchronization.groups().areSeveral();
  }

  /** Recomputes the price from a state. */
  void refresh(State state) {
    if (isFree) {
      return;
    }
    long largest = 0;
    for (long ofDevice : state.bytes[Tiers.TABLES]) {
      largest = Math.max(largest, ofDevice);
    }
    if (largest != most) {
      most = largest;
      ms = ms(most);
    }
  }

  /** Returns by how much a move raises the price. */
  double change(State state, MoveDelta delta) {
    if (isFree) {
      return 0;
    }
    long largest = 0;
    for (int d = 0; d < state.devices; d++) {
      if (!delta.touches(d)) {
        largest = Math.max(largest, state.bytes[Tiers.TABLES][d]);
      }
    }
    for (int i = 0; i < delta.count; i++) {
      largest =
          Math.max(
              largest, state.bytes[Tiers.TABLES][delta.device[i]] + delta.bytes[i][Tiers.TABLES]);
    }
    return largest == most ? 0 : ms(largest) - ms;
  }

  private double ms(long fullest) {
    return synchronization.ms(evaluator, (double) fullest) / synchronization.steps();
  }
}
