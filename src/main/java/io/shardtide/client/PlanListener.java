package io.shardtide.client;

import io.shardtide.domain.RejectedEvent;

/**
 * Hears plans, on a thread of the subscriber's: while it works, it hears nothing else. What it
 * throws ends the subscription.
 */
@FunctionalInterface
public interface PlanListener {
  /** Hears a workload's latest plan: once at the start, then each new one. */
  void plan(PlanUpdate update);

  /** Hears that each workload's latest plan was said, and that what follows is new. */
  default void caughtUp() {}

  /** Hears of a record that is no plan which this version can read; it goes on with the next. */
  default void unreadable(RejectedEvent record) {}

  /** Hears what ended the subscription; nothing follows. */
  default void failed(RuntimeException error) {}
}
