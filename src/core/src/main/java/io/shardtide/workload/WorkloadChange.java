package io.shardtide.workload;

import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;

/**
 * An event: changes to a workload, published by its owner. They are applied together or not at all.
 *
 * @param eventId identity; an event that was applied before is rejected
 * @param workloadId the workload
 * @param occurredAt when it happened at its source; informative, no plan depends on it
 * @param source name of the publisher
 * @param expectedGeneration the generation that the publisher expects the workload to have
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
   * The most changes of one event: they, and everything that follows from them, fit one
   * transaction.
   */
  public static final int MAX_CHANGES = 10_000;

  private static final String SPLIT = ". Maybe split it into several events";

  /**
   * @throws RejectedException if the workload id or the number of changes is invalid, or a deletion
   *     is not the only change
   */
  public WorkloadChange {
    Names.check(workloadId, "workload id", RejectionReason.INVALID_WORKLOAD_ID);
    checkCount(changes.size());
    changes = List.copyOf(changes);
    if (changes.size() > 1 && changes.stream().anyMatch(Change.WorkloadDeleted.class::isInstance)) {
      throw RejectionReason.TOO_MANY_CHANGES.failure(
          "the deletion of a workload must be the only change of its event, got %s changes"
              .formatted(changes.size()));
    }
  }

  /**
   * Checks that no two changes are of the same table, or of the cluster: the later one would
   * silently undo the earlier. The constructor does not, since logs hold such events.
   *
   * @throws RejectedException with both changes, and what differs between them
   */
  public void checkDistinct() {
    DistinctChanges.check(changes);
  }

  /** Returns whether the event deletes its workload. */
  public boolean isDeletion() {
    return changes.get(0) instanceof Change.WorkloadDeleted;
  }

  /**
   * Checks the number of changes, before they are decoded.
   *
   * @throws RejectedException if there are none or too many
   */
  public static void checkCount(int changes) {
    if (changes == 0 || changes > MAX_CHANGES) {
      throw (changes == 0 ? RejectionReason.NO_CHANGES : RejectionReason.TOO_MANY_CHANGES)
          .failure(
              "changes of an event must be between 1 and %s, got %s%s"
                  .formatted(MAX_CHANGES, changes, changes == 0 ? "" : SPLIT));
    }
  }
}
