package io.shardtide.client;

import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.SourcePosition;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * Events that were sent and have no outcome yet. A rejection names the position of its event, which
 * may be known later than the rejection. Safe for use by several threads.
 */
final class PendingEvents {
  /** Rejections that are kept because they may arrive before the position of their event. */
  private static final int EARLY_REJECTIONS = 1000;

  private final Map<UUID, SentEvent> pending = new ConcurrentHashMap<>();
  private final Map<SourcePosition, Outcome.Rejected> early =
      Collections.synchronizedMap(
          new LinkedHashMap<>() {
            @Override
            protected boolean removeEldestEntry(
                Map.Entry<SourcePosition, Outcome.Rejected> eldest) {
              return size() > EARLY_REJECTIONS;
            }
          });
  private volatile RuntimeException failure;

  /** An event without an outcome yet. */
  private static final class SentEvent {
    private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
    private volatile Optional<SourcePosition> position = Optional.empty();
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
    SentEvent event = new SentEvent();
    if (pending.putIfAbsent(eventId, event) != null) {
      throw new IllegalArgumentException(
          "Event %s is pending already; send it again after its outcome".formatted(eventId));
    }
    if (failure != null) {
      pending.remove(eventId);
      throw new IllegalStateException(
          "Outcomes are no longer received: " + failure.getMessage(), failure);
    }
    // Before the caller sees the outcome; and when the caller cancels, or times out.
    CompletableFuture<Outcome> outcome =
        event.outcome.whenComplete((decided, error) -> pending.remove(eventId, event));
    outcome.whenComplete((decided, error) -> pending.remove(eventId, event));
    try {
      send.get()
          .whenComplete(
              (position, error) -> {
                if (error == null) {
                  sent(event, position);
                } else {
                  event.outcome.completeExceptionally(error);
                }
              });
    } catch (RuntimeException e) {
      event.outcome.completeExceptionally(e);
    }
    return outcome;
  }

  private void sent(SentEvent event, SourcePosition position) {
    event.position = Optional.of(position);
    Outcome.Rejected rejection = early.remove(position);
    if (rejection != null) {
      event.outcome.complete(rejection);
    }
  }

  /** Returns whether an event has no outcome yet. */
  boolean contains(UUID eventId) {
    return pending.containsKey(eventId);
  }

  /** Returns the positions of the events without an outcome that are written. */
  Map<UUID, SourcePosition> written() {
    Map<UUID, SourcePosition> positions = new HashMap<>();
    pending.forEach((id, event) -> event.position.ifPresent(p -> positions.put(id, p)));
    return positions;
  }

  /** Completes an event, if it is pending. */
  void accept(UUID eventId, Outcome.Accepted outcome) {
    Optional.ofNullable(pending.get(eventId)).ifPresent(event -> event.outcome.complete(outcome));
  }

  /** Completes the event that was rejected, now or when its position is known. */
  void reject(RejectedEvent rejected) {
    Outcome.Rejected outcome = new Outcome.Rejected(rejected.reason(), rejected.message());
    // Kept first: the position may become known while it is looked for.
    early.put(rejected.source(), outcome);
    for (SentEvent event : pending.values()) {
      if (event.position.equals(Optional.of(rejected.source()))) {
        early.remove(rejected.source());
        event.outcome.complete(outcome);
      }
    }
  }

  /** Completes all events exceptionally, and takes no others. */
  void end(RuntimeException error) {
    failure = error;
    pending.values().forEach(event -> event.outcome.completeExceptionally(error));
  }
}
