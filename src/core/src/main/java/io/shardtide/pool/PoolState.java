package io.shardtide.pool;

import io.shardtide.pool.PoolUpdate.ClaimSet;
import io.shardtide.pool.PoolUpdate.ClaimWithdrawn;
import io.shardtide.pool.PoolUpdate.PoolNodeAdded;
import io.shardtide.pool.PoolUpdate.PoolNodeLost;
import io.shardtide.pool.PoolUpdate.PoolSet;
import io.shardtide.workload.Limits;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.Collections;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A pool and the claims on it, after all events up to a generation.
 *
 * @param id identity
 * @param generation number of events that were applied; 0 before the first
 * @param pool the pool, once an event has set it
 * @param claims the claims by workload, {@value #MAX_CLAIMS} at most
 */
public record PoolState(
    String id, long generation, Optional<Pool> pool, SortedMap<String, Claim> claims) {
  /** Keeps an allocation, with a reason for each workload, below the size of a record. */
  public static final int MAX_CLAIMS = 1_000;

  /** Copies what may change. */
  public PoolState {
    Names.check(id, "pool id", RejectionReason.INVALID_POOL);
    claims = Collections.unmodifiableSortedMap(new TreeMap<>(claims));
  }

  /** Returns a pool before its first event. */
  public static PoolState empty(String id) {
    return new PoolState(id, 0, Optional.empty(), new TreeMap<>());
  }

  /**
   * Returns the next generation.
   *
   * @throws RejectedException if a change names a pool, node or claim that does not exist, adds a
   *     node that exists, or a claim too many
   */
  public PoolState apply(PoolChange event) {
    Optional<Pool> next = pool;
    SortedMap<String, Claim> nextClaims = new TreeMap<>(claims);
    for (PoolUpdate update : event.updates()) {
      if (update instanceof PoolSet set) {
        next = Optional.of(set.pool());
      } else if (update instanceof PoolNodeAdded added) {
        next = Optional.of(known(next).with(added.node()));
      } else if (update instanceof PoolNodeLost lost) {
        next = Optional.of(known(next).without(lost.node()));
      } else if (update instanceof ClaimSet set) {
        known(next);
        nextClaims.put(set.claim().workloadId(), set.claim());
      } else if (update instanceof ClaimWithdrawn withdrawn
          && nextClaims.remove(withdrawn.workloadId()) == null) {
        throw RejectionReason.UNKNOWN_CLAIM.failure(
            "a withdrawn claim must be one of the %s on pool %s, got that of workload %s"
                .formatted(
                    nextClaims.size(), Names.quote(id), Names.quote(withdrawn.workloadId())));
      }
    }
    Limits.of(RejectionReason.INVALID_CLAIM, "pool", id)
        .whole("number of claims", nextClaims.size(), 0, MAX_CLAIMS);
    return new PoolState(id, generation + 1, next, nextClaims);
  }

  private Pool known(Optional<Pool> of) {
    return of.orElseThrow(
        () ->
            RejectionReason.UNKNOWN_POOL.failure(
                "pool %s must be set before its nodes and claims change. Maybe publish a PoolSet first"
                    .formatted(Names.quote(id))));
  }
}
