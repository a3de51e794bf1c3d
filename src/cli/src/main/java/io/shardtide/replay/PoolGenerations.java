package io.shardtide.replay;

import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolHistory;
import io.shardtide.pool.PoolState;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Which event made which generation of each pool. The recorded events include rejected ones: the
 * rules of the domain decide which were applied, as they did in the planner.
 */
final class PoolGenerations {
  private final Map<String, PoolEvents> byPool = new TreeMap<>();

  private static final class PoolEvents {
    final List<PoolChange> applied = new ArrayList<>();
    final PoolHistory history;

    /** The state that was asked for last: allocations ascend, so that few events are applied. */
    PoolState state;

    PoolEvents(String poolId) {
      history = new PoolHistory(poolId);
      state = history.state();
    }
  }

  /** Reads the recorded events of all pools; none if no events are recorded. */
  static PoolGenerations read(LogRecords records) throws IOException {
    PoolGenerations pools = new PoolGenerations();
    if (records.has(RecordKind.POOL_CHANGES)) {
      records.read(RecordKind.POOL_CHANGES, pools::add);
    }
    return pools;
  }

  private void add(PoolChange event) {
    PoolEvents events = byPool.computeIfAbsent(event.poolId(), PoolEvents::new);
    if (events.history.apply(event).isPresent()) {
      events.applied.add(event);
    }
  }

  /** Returns the pools that have events, ascending. */
  Set<String> pools() {
    return new TreeSet<>(byPool.keySet());
  }

  /** Returns the number of applied events of a pool. */
  long last(String poolId) {
    return byPool.containsKey(poolId) ? byPool.get(poolId).applied.size() : 0;
  }

  /** Returns the state of a pool in a generation; empty if the events up to it are not recorded. */
  Optional<PoolState> at(String poolId, long generation) {
    if (generation < 0 || generation > last(poolId)) {
      return Optional.empty();
    }
    PoolEvents events = byPool.computeIfAbsent(poolId, PoolEvents::new);
    if (events.state.generation() > generation) {
      events.state = PoolState.empty(poolId);
    }
    while (events.state.generation() < generation) {
      events.state = events.state.apply(events.applied.get((int) events.state.generation()));
    }
    return Optional.of(events.state);
  }

  /** Returns what led from one generation of a pool to a later one, in order. */
  List<PlanProvenance.ProvenanceEvent> between(String poolId, long after, long upTo) {
    List<PlanProvenance.ProvenanceEvent> between = new ArrayList<>();
    for (long generation = after + 1; generation <= Math.min(upTo, last(poolId)); generation++) {
      PoolChange event = byPool.get(poolId).applied.get((int) generation - 1);
      PoolState before = at(poolId, generation - 1).orElseThrow();
      between.add(
          new PlanProvenance.ProvenanceEvent(
              generation,
              event.eventId(),
              Optional.of(event.source()),
              Optional.of(event.occurredAt()),
              ChangeTexts.describe(before, event)));
    }
    return between;
  }
}
