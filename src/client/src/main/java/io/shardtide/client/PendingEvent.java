package io.shardtide.client;

import io.shardtide.workload.SourcePosition;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * Builder of one event: changes that the planner applies together, all or none. Not safe for use by
 * several threads.
 *
 * @param <E> type of the event
 * @param <C> type of its changes
 * @param <B> type of the builder
 */
public abstract sealed class PendingEvent<E, C, B extends PendingEvent<E, C, B>>
    permits PendingChange, PendingPoolChange {
  final String key;
  final String source;
  final List<C> changes = new ArrayList<>();
  UUID eventId = UUID.randomUUID();
  Instant occurredAt = Instant.now();
  private final Publisher<E> publisher;

  PendingEvent(Publisher<E> publisher, String key) {
    this.publisher = publisher;
    this.key = key;
    source = publisher.source;
  }

  @SuppressWarnings("unchecked") // Each permitted class names itself.
  final B self() {
    return (B) this;
  }

  final B with(C change) {
    changes.add(change);
    return self();
  }

  /**
   * Sets the event's id, for publishers that must send the same id again after a restart. A random
   * one otherwise.
   */
  public final B eventId(UUID id) {
    eventId = id;
    return self();
  }

  /** Sets when the change occurred at its source. Now, otherwise. For people; orders nothing. */
  public final B occurredAt(Instant time) {
    occurredAt = time;
    return self();
  }

  /**
   * Returns the event.
   *
   * @throws io.shardtide.workload.RejectedException if a value is out of range, or two changes are
   *     of one table or of the cluster; the message names the value and what is expected
   */
  public abstract E event();

  /** Builds and sends the event, as {@link Publisher#publish}. */
  public final CompletableFuture<SourcePosition> send() {
    return publisher.publish(event());
  }

  /** Builds and sends the event, as {@link Publisher#publishAndAwait}. */
  public final CompletableFuture<Outcome> sendAndAwait() {
    return publisher.publishAndAwait(event());
  }
}
