package io.shardtide.client;

import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.SourcePosition;
import io.shardtide.log.EndOffsets;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.time.Duration;
import java.time.Instant;
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
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.RetriableException;

/**
 * Finds the outcomes of events that were sent. The planner writes predictions after it applied an
 * event of a workload with a cluster, and a rejection after it rejected one. After an event of a
 * workload without a cluster it writes nothing: such an event is accepted if the planner's consumer
 * group has passed it and no rejection is among the records written until then.
 */
final class PendingOutcomes implements AutoCloseable {
  /** Interval at which the planner's committed offsets are compared with the pending events. */
  private static final Duration OFFSETS_INTERVAL = Duration.ofMillis(250);

  /** Longest wait for an answer about offsets; the next interval tries again. */
  private static final int OFFSETS_TIMEOUT_MS = 5_000;

  /** Rejections that are kept because they may arrive before the position of their event. */
  private static final int EARLY_REJECTIONS = 1000;

  private final Admin admin;
  private final EndOffsets endOffsets;
  private final TopicReader reader;
  private final String group;
  private final Map<UUID, PendingEvent> pending = new HashMap<>();
  private final Map<SourcePosition, Outcome.Rejected> early =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<SourcePosition, Outcome.Rejected> eldest) {
          return size() > EARLY_REJECTIONS;
        }
      };
  private RuntimeException failure;
  private volatile boolean closing;

  /** An event without an outcome yet. */
  private static final class PendingEvent {
    private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
    private Optional<SourcePosition> position = Optional.empty();

    /** Ends of the planner's topics when its group had passed the event; empty before. */
    private Map<TopicPartition, Long> ends = Map.of();
  }

  PendingOutcomes(Endpoint endpoint, Registry registry) {
    Topics topics = endpoint.topics();
    group = endpoint.prefix() + Topics.WORKLOAD_APPLICATION;
    admin = Admin.create(endpoint.clients(Map.of(), Map.of()));
    endOffsets = new EndOffsets(endpoint.clients(Map.of(), Map.of()));
    try {
      reader =
          endpoint
              .reader(registry)
              .handle(
                  topics.costPredictions(), StartPosition.END, Optional.empty(), this::predicted)
              .handle(topics.rejectedEvents(), StartPosition.END, Optional.empty(), this::rejected)
              .every(OFFSETS_INTERVAL, this::compareOffsets)
              .onFailedAttempt(this::notAccepted)
              .onFailure(this::fail);
      reader.open();
    } catch (RuntimeException e) {
      admin.close(Duration.ZERO);
      throw e;
    }
    reader.start("shardtide-outcomes");
  }

  /** Adds an event that is about to be sent. */
  synchronized CompletableFuture<Outcome> expect(UUID eventId) {
    if (failure != null) {
      throw new IllegalStateException(
          "Outcomes are no longer received: " + failure.getMessage(), failure);
    }
    PendingEvent added = new PendingEvent();
    if (pending.putIfAbsent(eventId, added) != null) {
      throw new IllegalArgumentException(
          "Event %s is pending already; send it again after its outcome".formatted(eventId));
    }
    // Also when the caller cancels, or times out.
    return added.outcome.whenComplete((outcome, error) -> remove(eventId));
  }

  private synchronized void remove(UUID eventId) {
    pending.remove(eventId);
  }

  /** Records where an event was written. */
  void sent(UUID eventId, SourcePosition position) {
    Outcome.Rejected rejection;
    PendingEvent event;
    synchronized (this) {
      event = pending.get(eventId);
      rejection = early.remove(position);
      if (event != null) {
        event.position = Optional.of(position);
      }
    }
    if (event != null && rejection != null) {
      event.outcome.complete(rejection);
    }
  }

  /** Completes an event that could not be sent. */
  void notSent(UUID eventId, Throwable error) {
    PendingEvent event;
    synchronized (this) {
      event = pending.get(eventId);
    }
    if (event != null) {
      event.outcome.completeExceptionally(error);
    }
  }

  private void predicted(SourcePosition position, Instant writtenAt, CostPredictions part) {
    PendingEvent event;
    synchronized (this) {
      event = pending.get(part.eventId());
    }
    if (event != null) {
      event.outcome.complete(
          new Outcome.Accepted(OptionalLong.of(part.generation()), part.costsOf()));
    }
  }

  private void rejected(SourcePosition position, Instant writtenAt, RejectedEvent rejected) {
    Outcome.Rejected outcome = new Outcome.Rejected(rejected.reason(), rejected.message());
    Optional<PendingEvent> event;
    synchronized (this) {
      event =
          pending.values().stream()
              .filter(p -> p.position.equals(Optional.of(rejected.source())))
              .findAny();
      if (event.isEmpty()) {
        early.put(rejected.source(), outcome);
      }
    }
    event.ifPresent(e -> e.outcome.complete(outcome));
  }

  private void compareOffsets() {
    List<PendingEvent> open;
    synchronized (this) {
      open = pending.values().stream().filter(e -> e.position.isPresent()).toList();
    }
    if (open.isEmpty()) {
      return;
    }
    try {
      compareOffsets(open);
    } catch (RetriableException e) {
      // The cluster does not answer now; the events stay pending.
    } catch (RuntimeException e) {
      // A closed client fails in several ways.
      if (!closing) {
        throw e;
      }
    }
  }

  private void compareOffsets(List<PendingEvent> open) {
    Map<TopicPartition, OffsetAndMetadata> committed =
        get(
            admin
                .listConsumerGroupOffsets(
                    group, new ListConsumerGroupOffsetsOptions().timeoutMs(OFFSETS_TIMEOUT_MS))
                .partitionsToOffsetAndMetadata());
    List<PendingEvent> passed =
        open.stream().filter(e -> isPast(committed, e.position.orElseThrow())).toList();
    if (passed.stream().anyMatch(e -> e.ends.isEmpty())) {
      // Uncommitted ends: a transaction can be visible in the group's offsets before it is here.
      Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
      reader.partitions().forEach(p -> latest.put(p, OffsetSpec.latest()));
      Map<TopicPartition, Long> ends = new HashMap<>();
      endOffsets
          .list(latest, new ListOffsetsOptions())
          .forEach((p, info) -> ends.put(p, info.offset()));
      passed.stream().filter(e -> e.ends.isEmpty()).forEach(e -> e.ends = ends);
    }
    passed.stream()
        .filter(e -> reader.isPast(e.ends))
        .forEach(
            e -> e.outcome.complete(new Outcome.Accepted(OptionalLong.empty(), Optional.empty())));
  }

  private static boolean isPast(
      Map<TopicPartition, OffsetAndMetadata> committed, SourcePosition position) {
    OffsetAndMetadata next =
        committed.get(new TopicPartition(position.topic(), position.partition()));
    return next != null && next.offset() > position.offset();
  }

  /**
   * @throws RetriableException if the cluster does not answer
   */
  private static <T> T get(KafkaFuture<T> future) {
    try {
      return future.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while reading the planner's offsets", e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RetriableException retriable) {
        throw retriable;
      }
      throw new IllegalStateException(
          "The planner's offsets cannot be read: " + e.getCause().getMessage(), e);
    }
  }

  /**
   * Completes the events that are not written yet when the brokers do not accept this client. The
   * producer itself would try for {@code delivery.timeout.ms} and then say only that time is up.
   */
  private void notAccepted(RuntimeException error) {
    if (!(error instanceof AuthenticationException)) {
      return;
    }
    List<PendingEvent> unsent;
    synchronized (this) {
      unsent = pending.values().stream().filter(e -> e.position.isEmpty()).toList();
    }
    unsent.forEach(e -> e.outcome.completeExceptionally(error));
  }

  private void fail(RuntimeException error) {
    Collection<PendingEvent> all;
    synchronized (this) {
      failure = error;
      all = List.copyOf(pending.values());
    }
    all.forEach(e -> e.outcome.completeExceptionally(error));
  }

  /** Completes the pending events exceptionally. */
  @Override
  public void close() {
    closing = true;
    // Ends a request that the reader's thread waits for.
    endOffsets.close();
    admin.close(Duration.ZERO);
    reader.close();
    fail(new IllegalStateException("The publisher was closed"));
  }
}
