package io.shardtide.pool;

import java.util.Optional;

/**
 * State of a pool between events.
 *
 * @param state the pool and the claims
 * @param allocation the latest allocation, if there was one
 * @param isDue whether something changed since the latest allocation
 */
public record StoredPool(PoolState state, Optional<Allocation> allocation, boolean isDue) {

  /** Returns the state of a pool before its first event. */
  public static StoredPool empty(String poolId) {
    return new StoredPool(PoolState.empty(poolId), Optional.empty(), false);
  }

  /** Returns the state after an event. */
  public StoredPool with(PoolState next) {
    return new StoredPool(next, allocation, next.pool().isPresent());
  }

  /** Returns the state after a curve changed. */
  public StoredPool due() {
    return with(state);
  }

  /** Returns the state after an allocation. */
  public StoredPool with(Allocation made) {
    return new StoredPool(state, Optional.of(made), false);
  }
}
