package io.shardtide.step;

import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.UUID;

/**
 * The ids of the latest events of each workload or pool, to detect duplicates.
 *
 * @param entries the generation of each event, and the event of each generation
 */
public record AppliedEvents(KeyValues<String> entries) {
  /**
   * How many ids of a workload's latest events are stored. A publisher repeats events within
   * seconds or, after an outage, days; at one change a second this is more than a day, at one an
   * hour eleven years, and it bounds the store.
   */
  public static final long REMEMBERED = 100_000;

  /**
   * Checks that an event was not applied yet.
   *
   * @param what a workload or a pool
   * @throws RejectedException if it was
   */
  public void check(String what, String id, UUID eventId) {
    if (entries.get(id, eventId.toString()).isPresent()) {
      throw RejectionReason.DUPLICATE_EVENT.failure(
          "event id must be new for %s %s, got %s, which was applied before"
              .formatted(what, Names.quote(id), eventId));
    }
  }

  /** Stores that an event was applied and gave this generation. */
  public void add(String workloadId, UUID eventId, long generation) {
    entries.put(workloadId, eventId.toString(), Long.toString(generation));
    entries.put(workloadId, name(generation), eventId.toString());
    entries
        .delete(workloadId, name(generation - REMEMBERED))
        .ifPresent(forgotten -> entries.delete(workloadId, forgotten));
  }

  private static String name(long generation) {
    return "generation " + generation;
  }
}
