package io.shardtide.client;

import io.shardtide.domain.RejectedEvent;

/**
 * Receives plans. All methods are called on one thread of the subscriber, one call at a time; no
 * plan arrives while a call runs. An exception from a method ends the subscription and is passed to
 * {@link #failed}.
 */
@FunctionalInterface
public interface PlanListener {
  /** Called with the latest plan of each workload at the start, then with each new plan. */
  void plan(PlanUpdate update);

  /** Called when a workload was deleted after one of its plans was delivered. */
  default void deleted(String workloadId) {}

  /** Called once, when the latest plan of each workload was delivered; later plans are new. */
  default void caughtUp() {}

  /**
   * Called with a record that this version cannot decode as a plan. The subscription goes on with
   * the next record.
   */
  default void undecodable(RejectedEvent record) {}

  /**
   * Called when plans wait because the schema registry does not answer, or the brokers do not
   * accept this client or its certificate any more. They are delivered when that is over.
   */
  default void waiting(RuntimeException cause) {}

  /** Called with the error that ended the subscription; no call follows. */
  default void failed(RuntimeException error) {}
}
