package io.shardtide.client;

import io.shardtide.pool.Allocation;
import io.shardtide.workload.RejectionReason;
import java.util.Optional;
import java.util.OptionalLong;

/** The planner's decision on an event. */
public sealed interface Outcome {

  /**
   * The event was applied, all its changes.
   *
   * @param generation the workload's generation with this event, from 1; empty while the workload
   *     has no cluster: then the planner writes no record that names it. Of a pool, the generation
   *     of {@code allocation}
   * @param proxyHardware the hardware whose costs the predictions are, if that is not the
   *     cluster's: until the cluster's is measured
   * @param allocation of an event of a pool, the first allocation that contains it; otherwise empty
   */
  record Accepted(
      OptionalLong generation, Optional<String> proxyHardware, Optional<Allocation> allocation)
      implements Outcome {
    /** The outcome of an event of a workload. */
    public Accepted(OptionalLong generation, Optional<String> proxyHardware) {
      this(generation, proxyHardware, Optional.empty());
    }

    /** The outcome of an event of a pool. */
    public Accepted(Allocation allocation) {
      this(OptionalLong.of(allocation.generation()), Optional.empty(), Optional.of(allocation));
    }
  }

  /**
   * The event was not applied, none of its changes. The topic rejected-events keeps its bytes.
   *
   * @param reason the code. {@link RejectionReason#DUPLICATE_EVENT}: an event with this id was
   *     applied before. It is the expected outcome of sending an event again after an error
   * @param message what is wrong, the value, and what is expected
   */
  record Rejected(RejectionReason reason, String message) implements Outcome {}
}
