package io.shardtide.client;

import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;

import io.shardtide.log.StartPosition;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolHistory;
import io.shardtide.wire.Registry;
import io.shardtide.workload.SourcePosition;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.UUID;

/**
 * Finds the outcomes of events of pools that were sent. An allocation names the pool's generation,
 * not the events in it, so that this class applies pool-changes from the beginning, as the planner
 * does, to know the generation that an event made. The event is accepted by the first allocation
 * that has this generation or a later one, and rejected if the planner says so. The two topics are
 * read in any order, so that allocations are kept until the events before them are known.
 */
final class PoolOutcomes extends OutcomeReader {
  /** Interval at which positions of events that became known later are looked at. */
  private static final Duration POSITIONS_INTERVAL = Duration.ofMillis(250);

  // On the reader's thread only.
  private final Map<String, PoolHistory> pools = new HashMap<>();

  /** By pool and generation, the first allocation that was received. */
  private final Map<String, NavigableMap<Long, Allocation>> allocated = new HashMap<>();

  private final Map<UUID, GenerationOfEvent> applied = new HashMap<>();

  /** Where an event is, and the generation that it made. */
  private record GenerationOfEvent(String poolId, SourcePosition position, long generation) {}

  PoolOutcomes(Endpoint endpoint, Registry registry) {
    super(endpoint, registry);
    reader
        .handle(endpoint.topics().of(POOL_CHANGES), StartPosition.BEGINNING, this::apply)
        .handle(endpoint.topics().of(CURRENT_ALLOCATIONS), StartPosition.END, this::allocated)
        .every(POSITIONS_INTERVAL, this::complete)
        .onUndecodable(record -> {});
    start(endpoint);
  }

  private void apply(SourcePosition position, Instant writtenAt, PoolChange event) {
    OptionalLong generation = pools.computeIfAbsent(event.poolId(), PoolHistory::new).apply(event);
    if (generation.isPresent() && pending.contains(event.eventId())) {
      applied.put(
          event.eventId(), new GenerationOfEvent(event.poolId(), position, generation.getAsLong()));
      complete();
    }
  }

  private void allocated(SourcePosition position, Instant writtenAt, Allocation allocation) {
    allocated
        .computeIfAbsent(allocation.poolId(), pool -> new TreeMap<>())
        .putIfAbsent(allocation.generation(), allocation);
    complete();
  }

  private void complete() {
    Map<UUID, SourcePosition> written = pending.written();
    applied.keySet().removeIf(id -> !pending.contains(id));
    applied.forEach(
        (id, event) -> {
          Map.Entry<Long, Allocation> first =
              allocated
                  .getOrDefault(event.poolId(), Collections.emptyNavigableMap())
                  .ceilingEntry(event.generation());
          // An event that was applied before and is sent again is pending at another position.
          if (first != null && event.position().equals(written.get(id))) {
            pending.accept(id, new Outcome.Accepted(first.getValue()));
          }
        });
    allocated.forEach((pool, ofPool) -> ofPool.headMap(firstOfInterest(pool)).clear());
  }

  /** Returns the lowest generation of a pool that an event without an outcome has or may get. */
  private long firstOfInterest(String pool) {
    long next = pools.containsKey(pool) ? pools.get(pool).state().generation() + 1 : 1;
    return applied.values().stream()
        .filter(event -> event.poolId().equals(pool))
        .mapToLong(GenerationOfEvent::generation)
        .reduce(next, Math::min);
  }
}
