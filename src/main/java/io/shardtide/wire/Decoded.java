package io.shardtide.wire;

import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.WorkloadChange;

/** What became of a record of workload-changes. */
public sealed interface Decoded {
  /**
   * It is an event.
   *
   * @param change the event
   */
  record Event(WorkloadChange change) implements Decoded {}

  /**
   * It is none that can be applied.
   *
   * @param rejection the record with the reason
   */
  record Rejected(RejectedEvent rejection) implements Decoded {}
}
