package io.shardtide.client;

import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.SourcePosition;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;

/**
 * Hears what becomes of events. An event whose workload has a cluster is followed by predictions,
 * one that is wrong by a rejection. One of a workload without a cluster is followed by nothing: it
 * is accepted if the planner is past it, and past all that the planner wrote by then there is no
 * rejection.
 */
final class PendingOutcomes implements AutoCloseable {
  /** How often is asked whether the planner is past an event. */
  private static final long ASK_NANOS = 250_000_000;

  /** Rejections that may come before the cluster told the publisher where the event lies. */
  private static final int EARLY_REJECTIONS = 1000;

  private final Admin admin;
  private final TopicFollower tail;
  private final String group;
  private final Map<UUID, PendingEvent> waiting = new HashMap<>();
  private final Map<SourcePosition, Outcome.Rejected> early =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<SourcePosition, Outcome.Rejected> eldest) {
          return size() > EARLY_REJECTIONS;
        }
      };
  private RuntimeException failure;
  private long askedAt = System.nanoTime();

  /** An event that somebody waits for. */
  private static final class PendingEvent {
    private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
    private Optional<SourcePosition> position = Optional.empty();

    /** Where the planner's topics ended when it was past the event; empty before. */
    private Map<TopicPartition, Long> ends = Map.of();
  }

  PendingOutcomes(Endpoint endpoint, Registry registry) {
    Topics topics = endpoint.topics();
    group = endpoint.prefix() + Topics.WORKLOAD_APPLICATION;
    admin = Admin.create(endpoint.clients(Map.of(), Map.of()));
    tail =
        new TopicFollower(endpoint, registry, Optional.empty())
            .follow(topics.costPredictions(), Optional.empty(), this::predicted)
            .follow(topics.rejectedEvents(), Optional.empty(), this::rejected)
            .each(this::askNowAndThen)
            .failed(this::fail);
    try {
      tail.assign(false);
      tail.start();
    } catch (RuntimeException e) {
      admin.close();
      throw e;
    }
  }

  /** Waits for an event that is not sent yet. */
  synchronized CompletableFuture<Outcome> expect(UUID eventId) {
    if (failure != null) {
      throw new IllegalStateException("Outcomes are not heard any more", failure);
    }
    PendingEvent added = new PendingEvent();
    if (waiting.putIfAbsent(eventId, added) != null) {
      throw new IllegalArgumentException(
          "Event %s is waited for already; legal is one at a time".formatted(eventId));
    }
    // Also when whoever waits gives up.
    return added.outcome.whenComplete((outcome, error) -> forget(eventId));
  }

  private synchronized void forget(UUID eventId) {
    waiting.remove(eventId);
  }

  /** Says where an event lies. */
  void sent(UUID eventId, SourcePosition position) {
    Outcome.Rejected rejection;
    PendingEvent of;
    synchronized (this) {
      of = waiting.get(eventId);
      rejection = early.remove(position);
      if (of != null) {
        of.position = Optional.of(position);
      }
    }
    if (of != null && rejection != null) {
      of.outcome.complete(rejection);
    }
  }

  /** Says that an event could not be sent. */
  void unsent(UUID eventId, Throwable error) {
    PendingEvent of;
    synchronized (this) {
      of = waiting.get(eventId);
    }
    if (of != null) {
      of.outcome.completeExceptionally(error);
    }
  }

  private void predicted(SourcePosition at, CostPredictions part) {
    PendingEvent of;
    synchronized (this) {
      of = waiting.get(part.eventId());
    }
    if (of != null) {
      of.outcome.complete(new Outcome.Accepted(OptionalLong.of(part.generation())));
    }
  }

  private void rejected(SourcePosition at, RejectedEvent event) {
    Outcome.Rejected rejection = new Outcome.Rejected(event.reason(), event.message());
    Optional<PendingEvent> of;
    synchronized (this) {
      of =
          waiting.values().stream()
              .filter(w -> w.position.equals(Optional.of(event.source())))
              .findAny();
      if (of.isEmpty()) {
        early.put(event.source(), rejection);
      }
    }
    of.ifPresent(w -> w.outcome.complete(rejection));
  }

  private void askNowAndThen() {
    if (System.nanoTime() - askedAt > ASK_NANOS) {
      ask();
      askedAt = System.nanoTime();
    }
  }

  private void ask() {
    List<PendingEvent> open;
    synchronized (this) {
      open = waiting.values().stream().filter(w -> w.position.isPresent()).toList();
    }
    if (open.isEmpty()) {
      return;
    }
    Map<TopicPartition, OffsetAndMetadata> committed =
        get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata());
    List<PendingEvent> passed =
        open.stream().filter(w -> isPast(committed, w.position.orElseThrow())).toList();
    if (passed.stream().anyMatch(w -> w.ends.isEmpty())) {
      // With what is not committed yet: a transaction may be visible here and not yet there.
      Map<TopicPartition, Long> ends = new HashMap<>();
      Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
      tail.partitions().forEach(p -> asked.put(p, OffsetSpec.latest()));
      get(admin.listOffsets(asked).all()).forEach((p, info) -> ends.put(p, info.offset()));
      passed.stream().filter(w -> w.ends.isEmpty()).forEach(w -> w.ends = ends);
    }
    passed.stream()
        .filter(w -> tail.isPast(w.ends))
        .forEach(w -> w.outcome.complete(new Outcome.Accepted(OptionalLong.empty())));
  }

  private static boolean isPast(
      Map<TopicPartition, OffsetAndMetadata> committed, SourcePosition position) {
    OffsetAndMetadata next =
        committed.get(new TopicPartition(position.topic(), position.partition()));
    return next != null && next.offset() > position.offset();
  }

  private static <T> T get(KafkaFuture<T> future) {
    try {
      return future.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while the cluster was asked", e);
    } catch (ExecutionException e) {
      throw new IllegalStateException(
          "The cluster does not say how far the planner is: " + e.getCause().getMessage(), e);
    }
  }

  private void fail(RuntimeException error) {
    Collection<PendingEvent> all;
    synchronized (this) {
      failure = error;
      all = List.copyOf(waiting.values());
    }
    all.forEach(w -> w.outcome.completeExceptionally(error));
  }

  @Override
  public void close() {
    tail.close();
    admin.close();
    fail(new IllegalStateException("The publisher was closed"));
  }
}
