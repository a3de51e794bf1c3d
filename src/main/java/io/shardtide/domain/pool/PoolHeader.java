package io.shardtide.domain.pool;

import java.util.Objects;
import java.util.Optional;

/**
 * State of a pool between events.
 *
 * @param state the pool and the claims
 * @param allocation the latest allocation, if there was one
 * @param isDue whether something changed since the latest allocation
 */
public record PoolHeader(PoolState state, Optional<Allocation> allocation, boolean isDue) {
  /** Checks that nothing is missing. */
  public PoolHeader {
    Objects.requireNonNull(state, "state");
    Objects.requireNonNull(allocation, "allocation");
  }

  /** Returns the state of a pool before its first event. */
  public static PoolHeader empty(String poolId) {
    return new PoolHeader(PoolState.empty(poolId), Optional.empty(), false);
  }

  /** Returns the state after an event. */
  public PoolHeader with(PoolState next) {
    return new PoolHeader(next, allocation, next.pool().isPresent());
  }

  /** Returns the state after a curve changed. */
  public PoolHeader due() {
    return new PoolHeader(state, allocation, state.pool().isPresent());
  }

  /** Returns the state after an allocation. */
  public PoolHeader with(Allocation made) {
    return new PoolHeader(state, Optional.of(made), false);
  }
}
