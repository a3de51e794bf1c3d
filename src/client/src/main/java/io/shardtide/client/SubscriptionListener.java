package io.shardtide.client;

import io.shardtide.workload.RejectedEvent;

/**
 * Receives what happens to a subscription. All methods are called on one thread of the subscriber,
 * one call at a time; no record arrives while a call runs. An exception from a method ends the
 * subscription and is passed to {@link #failed}.
 */
public interface SubscriptionListener {
  /** Called once, when the latest records were delivered; later ones are new. */
  default void caughtUp() {}

  /** Called when a workload, or a pool, was deleted after one of its records was delivered. */
  default void deleted(String id) {}

  /**
   * Called with a record that this version cannot decode. The subscription goes on with the next
   * record.
   */
  default void undecodable(RejectedEvent record) {}

  /**
   * Called when records wait because the schema registry does not answer, or the brokers do not
   * accept this client or its certificate any more. They are delivered when that is over.
   */
  default void waiting(RuntimeException cause) {}

  /** Called with the error that ended the subscription; no call follows. */
  default void failed(RuntimeException error) {}
}
