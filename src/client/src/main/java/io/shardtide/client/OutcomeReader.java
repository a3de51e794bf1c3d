package io.shardtide.client;

/** Finds the outcomes of events that were sent to one topic. */
interface OutcomeReader extends AutoCloseable {
  /** Returns the events without an outcome yet. */
  PendingEvents events();

  /** Completes the pending events exceptionally. */
  @Override
  void close();
}
