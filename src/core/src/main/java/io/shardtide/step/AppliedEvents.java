package io.shardtide.step;

import java.util.UUID;

/** The ids of the latest events of each workload or pool, to detect duplicates. */
public final class AppliedEvents {
  /**
   * How many ids of a workload's latest events are stored. A publisher repeats events within
   * seconds or, after an outage, days; at one change a second this is more than a day, at one an
   * hour eleven years, and it bounds the store.
   */
  public static final long REMEMBERED = 100_000;

  private final KeyValues<String> entries;

  /**
   * @param entries the generation of each event, and the event of each generation
   */
  public AppliedEvents(KeyValues<String> entries) {
    this.entries = entries;
  }

  /** Returns whether an event was applied to the workload. */
  public boolean contains(String workloadId, UUID eventId) {
    return entries.get(workloadId, eventId.toString()).isPresent();
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
