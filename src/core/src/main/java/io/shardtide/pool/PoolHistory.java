package io.shardtide.pool;

import io.shardtide.workload.RejectedException;
import java.util.LinkedHashSet;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;

/**
 * A pool after the events that were read so far, in their order: the planner, whose state is a
 * function of the same events, has the same generation after each. Not safe for use by several
 * threads.
 */
public final class PoolHistory {
  /**
   * Events of a pool whose ids the planner remembers: a publisher that sends one again does so
   * within its last events.
   */
  public static final int REMEMBERED_EVENTS = 100_000;

  private final Set<UUID> applied = new LinkedHashSet<>();
  private PoolState state;

  /** Begins before the pool's first event. */
  public PoolHistory(String poolId) {
    state = PoolState.empty(poolId);
  }

  /**
   * Applies an event of the pool.
   *
   * @return the generation that it made; empty if the planner rejects it
   */
  public OptionalLong apply(PoolChange event) {
    if (applied.contains(event.eventId())) {
      return OptionalLong.empty();
    }
    try {
      state = state.apply(event);
    } catch (RejectedException e) {
      return OptionalLong.empty();
    }
    applied.add(event.eventId());
    if (applied.size() > REMEMBERED_EVENTS) {
      applied.remove(applied.iterator().next());
    }
    return OptionalLong.of(state.generation());
  }

  /** Returns the pool after the events so far. */
  public PoolState state() {
    return state;
  }
}
