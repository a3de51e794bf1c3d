package io.shardtide.client;

import io.shardtide.domain.SourcePosition;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
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

  /** Interval at which an event that is being sent is compared with failed logins. */
  private static final long LOGINS_INTERVAL_MS = 200;

  /** Of so many looks, one is at the client's certificate: every 5 seconds. */
  private static final int LOOKS_PER_CERTIFICATE = 25;

  private final Endpoint endpoint;
  private final Registry registry;
  private final Topic<E> topic;
  private final Function<E, String> keyOf;
  private final Function<E, UUID> idOf;
  private final BiFunction<Endpoint, Registry, OutcomeReader> readers;
  private final Serializer<E> serializer;
  private final ClusterRefusals refusals;
  private final RecordSender sender;
  private OutcomeReader outcomes;

  /**
   * Creates a sender; the first event connects.
   *
   * @param endpoint the cluster and the registry
   * @param topic the events' topic
   * @param keyOf returns an event's key
   * @param idOf returns an event's id
   * @param readers begins to read outcomes
   */
  EventSender(
      Endpoint endpoint,
      Topic<E> topic,
      Function<E, String> keyOf,
      Function<E, UUID> idOf,
      BiFunction<Endpoint, Registry, OutcomeReader> readers) {
    this.endpoint = endpoint;
    this.topic = topic;
    this.keyOf = keyOf;
    this.idOf = idOf;
    this.readers = readers;
    registry = endpoint.connectRegistry();
    serializer = registry.serde(topic).serializer();
    refusals = new ClusterRefusals(endpoint, ROLE);
    sender = new RecordSender(endpoint, refusals, topic.maxMessageBytes());
  }

  /** Sends an event; returns its position, when all in-sync replicas have it, or Kafka's error. */
  CompletableFuture<SourcePosition> send(E event) {
    double failed = sender.failedLogins();
    CompletableFuture<SourcePosition> sent =
        sender.send(topic, serializer, keyOf.apply(event), event);
    endIfNotAccepted(sent, failed, 1);
    return sent;
  }

  /**
   * Fails an event when the brokers do not accept this client. A producer that has connected before
   * tries for {@code delivery.timeout.ms}, and then says only that time is up. It does not count
   * failed handshakes of TLS 1.3, in which brokers refuse a certificate last: an event that has
   * waited for seconds is not accepted if the client's certificate has expired.
   */
  private void endIfNotAccepted(CompletableFuture<SourcePosition> sent, double failed, int look) {
    if (sent.isDone()) {
      return;
    }
    boolean isExpired = look % LOOKS_PER_CERTIFICATE == 0 && refusals.expired().isPresent();
    if (isExpired || sender.failedLogins() > failed) {
      sent.completeExceptionally(refusals.notAccepted(Optional.empty()));
    } else {
      CompletableFuture.delayedExecutor(LOGINS_INTERVAL_MS, TimeUnit.MILLISECONDS)
          .execute(() -> endIfNotAccepted(sent, failed, look + 1));
    }
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
