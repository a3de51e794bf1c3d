package io.shardtide.client;

import io.shardtide.domain.RejectionReason;
import java.util.OptionalLong;

/** What became of an event. */
public sealed interface Outcome {

  /**
   * The event was applied.
   *
   * @param generation the workload's generation with it; empty while the workload has no cluster,
   *     when nothing is predicted and nobody says so
   */
  record Accepted(OptionalLong generation) implements Outcome {}

  /**
   * The event was not applied, no part of it. It stays as it came on rejected-events.
   *
   * @param reason the code. {@link RejectionReason#DUPLICATE_EVENT} says that an event of this id
   *     was applied before: after an error, sending it again is safe
   * @param message what was wrong, the value, and what is legal
   */
  record Rejected(RejectionReason reason, String message) implements Outcome {}
}
