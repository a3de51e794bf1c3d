package io.shardtide.client;

import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.SourcePosition;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Events that were sent and have no outcome yet. A rejection names the position of its event, which
 * may be known later than the rejection. Safe for use by several threads.
 */
final class PendingEvents {
  /** Rejections that are kept because they may arrive before the position of their event. */
  private static final int EARLY_REJECTIONS = 1000;

  private final Map<UUID, PendingEvent> pending = new HashMap<>();
  private final Map<SourcePosition, Outcome.Rejected> early =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<SourcePosition, Outcome.Rejected> eldest) {
          return size() > EARLY_REJECTIONS;
        }
      };
  private RuntimeException failure;

  /** An event without an outcome yet. */
  private static final class PendingEvent {
    private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
    private Optional<SourcePosition> position = Optional.empty();
  }

  /**
   * Sends an event.
   *
   * @param eventId its id
   * @param send sends it; returns its position, or an error
   * @return its outcome, or the error of sending it
   * @throws IllegalStateException if outcomes are no longer received
   * @throws IllegalArgumentException if an event of this id is pending
   */
  @SuppressWarnings("FutureReturnValueIgnored") // The outcome completes with failures.
  CompletableFuture<Outcome> send(UUID eventId, Supplier<CompletableFuture<SourcePosition>> send) {
    CompletableFuture<Outcome> outcome = expect(eventId);
    try {
      send.get()
          .whenComplete(
              (position, error) -> {
                if (error == null) {
                  sent(eventId, position);
                } else {
                  fail(eventId, error);
                }
              });
    } catch (RuntimeException e) {
      fail(eventId, e);
    }
    return outcome;
  }

  private synchronized CompletableFuture<Outcome> expect(UUID eventId) {
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

  private void sent(UUID eventId, SourcePosition position) {
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

  private void fail(UUID eventId, Throwable error) {
    find(eventId).ifPresent(event -> event.outcome.completeExceptionally(error));
  }

  private synchronized Optional<PendingEvent> find(UUID eventId) {
    return Optional.ofNullable(pending.get(eventId));
  }

  /** Returns whether an event has no outcome yet. */
  synchronized boolean contains(UUID eventId) {
    return pending.containsKey(eventId);
  }

  /** Returns the positions of the events without an outcome that are written. */
  synchronized Map<UUID, SourcePosition> written() {
    Map<UUID, SourcePosition> positions = new HashMap<>();
    pending.forEach((id, event) -> event.position.ifPresent(p -> positions.put(id, p)));
    return positions;
  }

  /** Completes an event, if it is pending. */
  void accept(UUID eventId, Outcome.Accepted outcome) {
    find(eventId).ifPresent(event -> event.outcome.complete(outcome));
  }

  /** Completes the event that was rejected, now or when its position is known. */
  void reject(RejectedEvent rejected) {
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

  /** Completes all events exceptionally, and takes no others. */
  void end(RuntimeException error) {
    Collection<PendingEvent> all;
    synchronized (this) {
      failure = error;
      all = List.copyOf(pending.values());
    }
    all.forEach(e -> e.outcome.completeExceptionally(error));
  }
}
