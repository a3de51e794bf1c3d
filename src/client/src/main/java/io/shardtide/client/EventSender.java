package io.shardtide.client;

import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.workload.SourcePosition;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Sends the events of one topic, and waits for their outcomes. Safe for use by several threads.
 *
 * @param <E> type of the events
 */
final class EventSender<E> implements AutoCloseable {
  /** The role of {@code ./shardtide acls} that publishes events. */
  static final String ROLE = "publisher";

  private final Endpoint endpoint;
  private final Registry registry;
  private final Topic<E> topic;
  private final Function<E, UUID> idOf;
  private final BiFunction<Endpoint, Registry, OutcomeReader> readers;
  private final Serializer<E> serializer;
  private final RecordSender sender;
  private final AcceptanceWatch acceptance;
  private OutcomeReader outcomes;

  /**
   * Creates a sender; the first event connects.
   *
   * @param endpoint the cluster and the registry
   * @param topic the events' topic
   * @param idOf returns an event's id
   * @param readers begins to read outcomes
   */
  EventSender(
      Endpoint endpoint,
      Topic<E> topic,
      Function<E, UUID> idOf,
      BiFunction<Endpoint, Registry, OutcomeReader> readers) {
    this.endpoint = endpoint;
    this.topic = topic;
    this.idOf = idOf;
    this.readers = readers;
    registry = endpoint.connectRegistry();
    serializer = registry.serde(topic).serializer();
    ClusterRefusals refusals = new ClusterRefusals(endpoint, ROLE);
    sender = new RecordSender(endpoint, refusals, topic.maxMessageBytes());
    acceptance =
        new AcceptanceWatch(
            sender::failedLogins,
            () -> refusals.expired().isPresent(),
            () -> refusals.notAccepted(Optional.empty()),
            CompletableFuture.delayedExecutor(AcceptanceWatch.INTERVAL_MS, TimeUnit.MILLISECONDS));
  }

  /** Sends an event; returns its position, when all in-sync replicas have it, or Kafka's error. */
  CompletableFuture<SourcePosition> send(E event) {
    double failed = sender.failedLogins();
    CompletableFuture<SourcePosition> sent =
        sender.send(topic, serializer, topic.type().keyOf(event), event);
    acceptance.watch(sent, failed);
    return sent;
  }

  /** Sends an event, and returns its outcome or the error of sending it. */
  CompletableFuture<Outcome> sendAndAwait(E event) {
    return outcomes().events().send(idOf.apply(event), () -> send(event));
  }

  private synchronized OutcomeReader outcomes() {
    if (outcomes == null) {
      outcomes = readers.apply(endpoint, registry);
    }
    return outcomes;
  }

  /**
   * Waits up to 5 seconds for events that are being sent. Futures that are not complete then
   * complete exceptionally.
   */
  @Override
  public synchronized void close() {
    sender.close();
    if (outcomes != null) {
      outcomes.close();
    }
    registry.close();
  }
}
