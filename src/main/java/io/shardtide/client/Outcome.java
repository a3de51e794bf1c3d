package io.shardtide.client;

import io.shardtide.domain.RejectionReason;
import java.util.Optional;
import java.util.OptionalLong;

/** The planner's decision on an event. */
public sealed interface Outcome {

  /**
   * The event was applied, all its changes.
   *
   * @param generation the workload's generation with this event, from 1; empty while the workload
   *     has no cluster: then the planner writes no record that names it
   * @param costsOf the hardware whose costs the predictions are, if that is not the cluster's:
   *     until the cluster's is measured
   */
  record Accepted(OptionalLong generation, Optional<String> costsOf) implements Outcome {}

  /**
   * The event was not applied, none of its changes. The topic rejected-events keeps its bytes.
   *
   * @param reason the code. {@link RejectionReason#DUPLICATE_EVENT}: an event with this id was
   *     applied before. It is the expected outcome of sending an event again after an error
   * @param message what is wrong, the value, and what is expected
   */
  record Rejected(RejectionReason reason, String message) implements Outcome {}
}
