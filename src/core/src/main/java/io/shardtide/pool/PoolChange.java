package io.shardtide.pool;

import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.time.Instant;
import java.util.List;
import java.util.UUID;

/**
 * An event: changes to a pool. They are applied together or not at all.
 *
 * @param eventId identity
 * @param poolId the pool
 * @param occurredAt when it happened at its source; informative, no allocation depends on it
 * @param source name of the publisher
 * @param updates 1 to {@value #MAX_UPDATES} changes, applied in order
 */
public record PoolChange(
    UUID eventId, String poolId, Instant occurredAt, String source, List<PoolUpdate> updates) {
  /** A claim for each workload that a pool may have. */
  public static final int MAX_UPDATES = PoolState.MAX_CLAIMS;

  /**
   * @throws RejectedException if the pool id or the number of changes is invalid
   */
  public PoolChange {
    Names.check(poolId, "pool id", RejectionReason.INVALID_POOL);
    updates = List.copyOf(updates);
    if (updates.isEmpty() || updates.size() > MAX_UPDATES) {
      throw (updates.isEmpty() ? RejectionReason.NO_CHANGES : RejectionReason.TOO_MANY_CHANGES)
          .failure(
              "changes of a pool's event must be between 1 and %s, got %s"
                  .formatted(MAX_UPDATES, updates.size()));
    }
  }
}
