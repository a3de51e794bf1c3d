package io.shardtide.domain;

import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.UUID;

/**
 * A change to a workload, published by its owner. All changes are applied together or not at all.
 *
 * @param eventId identity; an id that was applied before is rejected
 * @param workloadId the workload
 * @param occurredAt when it happened at its source; shown to people, no plan depends on it
 * @param source who publishes
 * @param expectedGeneration the generation the publisher believes the workload has
 * @param changes 1 to {@value #MAX_CHANGES} changes, applied in order
 */
public record WorkloadChange(
    UUID eventId,
    String workloadId,
    Instant occurredAt,
    String source,
    OptionalLong expectedGeneration,
    List<Change> changes) {

  /**
   * The most changes in one event: what keeps an event, and all that follows from it, within one
   * transaction.
   */
  public static final int MAX_CHANGES = 10_000;

  /**
   * @throws RejectedException if the workload id or the number of changes is not legal
   */
  public WorkloadChange {
    Objects.requireNonNull(eventId, "eventId");
    Objects.requireNonNull(occurredAt, "occurredAt");
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(expectedGeneration, "expectedGeneration");
    Names.check(workloadId, "workload id", RejectionReason.INVALID_WORKLOAD_ID);
    checkCount(changes.size());
    changes = List.copyOf(changes);
  }

  /**
   * Checks the number of changes before they are looked at one by one.
   *
   * @throws RejectedException if an event may not hold so many changes
   */
  public static void checkCount(int changes) {
    if (changes == 0) {
      throw new RejectedException(
          RejectionReason.NO_CHANGES,
          "The event has no changes; legal are 1 to %d".formatted(MAX_CHANGES));
    }
    if (changes > MAX_CHANGES) {
      throw new RejectedException(
          RejectionReason.TOO_MANY_CHANGES,
          "The event has %d changes; legal are 1 to %d. Maybe split it into several events"
              .formatted(changes, MAX_CHANGES));
    }
  }
}
