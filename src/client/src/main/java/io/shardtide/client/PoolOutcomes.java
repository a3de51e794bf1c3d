package io.shardtide.client;

import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;

import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolHistory;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
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
import org.apache.kafka.common.acl.AclOperation;

/**
 * Finds the outcomes of events of pools that were sent. An allocation names the pool's generation,
 * not the events in it, so that this class applies pool-changes from the beginning, as the planner
 * does, to know the generation that an event made. The event is accepted by the first allocation
 * that has this generation or a later one, and rejected if the planner says so. The two topics are
 * read in any order, so that allocations are kept until the events before them are known.
 */
final class PoolOutcomes implements OutcomeReader {
  /** Interval at which positions of events that became known later are looked at. */
  private static final Duration POSITIONS_INTERVAL = Duration.ofMillis(250);

  private final PendingEvents pending = new PendingEvents();
  private final TopicReader reader;

  // On the reader's thread only.
  private final Map<String, PoolHistory> pools = new HashMap<>();

  /** By pool and generation, the first allocation that was received. */
  private final Map<String, NavigableMap<Long, Allocation>> allocated = new HashMap<>();

  private final Map<UUID, GenerationOfEvent> applied = new HashMap<>();

  /** Where an event is, and the generation that it made. */
  private record GenerationOfEvent(String poolId, SourcePosition position, long generation) {}

  PoolOutcomes(Endpoint endpoint, Registry registry) {
    ClusterRefusals refusals = new ClusterRefusals(endpoint, EventSender.ROLE);
    Topics topics = endpoint.topics();
    reader =
        endpoint
            .reader(registry)
            .handle(topics.of(POOL_CHANGES), StartPosition.BEGINNING, this::apply)
            .handle(topics.of(CURRENT_ALLOCATIONS), StartPosition.END, this::allocated)
            .handle(
                topics.of(REJECTED_EVENTS),
                StartPosition.END,
                (position, writtenAt, rejected) -> pending.reject(rejected))
            .every(POSITIONS_INTERVAL, this::complete)
            .onUndecodable(record -> {})
            .onFailure(error -> pending.end(refusals.explain(error, AclOperation.READ)));
    try {
      ExtensionTopics.open(reader, Extension.POOLS);
    } catch (RuntimeException e) {
      throw refusals.explain(e, AclOperation.READ);
    }
    reader.start("shardtide-pool-outcomes");
  }

  @Override
  public PendingEvents events() {
    return pending;
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

  @Override
  public void close() {
    reader.close();
    pending.end(new IllegalStateException("The publisher was closed"));
  }
}
