package io.shardtide.client;

import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.SourcePosition;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Sends the events of one topic, and waits for their outcomes. Safe for use by several threads;
 * share one publisher within a process.
 *
 * @param <E> type of the events
 */
public abstract sealed class Publisher<E> implements AutoCloseable
    permits WorkloadPublisher, PoolPublisher {
  /** The role of {@code ./shardtide rights} that publishes events. */
  static final String ROLE = "publisher";

  final String source;
  private final Endpoint endpoint;
  private final Topic<E> topic;
  private final Function<E, UUID> idOf;
  private final BiFunction<Endpoint, Registry, OutcomeReader> readers;
  private final Registry registry;
  private final Serializer<E> serializer;
  private final RecordSender sender;
  private final AcceptanceWatch acceptance;
  private OutcomeReader outcomes;

  /**
   * Creates a publisher; the first event connects.
   *
   * @param endpoint the cluster and the registry
   * @param source name of the publisher, for people
   * @param type the events' topic
   * @param idOf returns an event's id
   * @param readers begins to read outcomes
   */
  Publisher(
      Endpoint endpoint,
      String source,
      TopicType<E> type,
      Function<E, UUID> idOf,
      BiFunction<Endpoint, Registry, OutcomeReader> readers) {
    this.source = source;
    this.endpoint = endpoint;
    topic = endpoint.topics().of(type);
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

  /** Refuses an event that the planner would reject for itself alone. */
  void check(E event) {}

  /**
   * Sends an event. May block until Kafka and the registry answer: {@link Endpoint#withTimeout}.
   *
   * @return its position on the topic, when all in-sync replicas have it; or Kafka's error: then it
   *     may be on the log or not, and sending the same event again is safe. Kafka's {@code
   *     AuthenticationException} comes within seconds if the brokers do not accept this client, and
   *     {@code AuthorizationException} if it lacks an ACL; their messages say what to do
   * @throws io.shardtide.workload.RejectedException if two changes are of one table, or of the
   *     cluster
   */
  public final CompletableFuture<SourcePosition> publish(E event) {
    check(event);
    double failed = sender.failedLogins();
    CompletableFuture<SourcePosition> sent = sender.send(topic, serializer, event);
    acceptance.watch(sent, failed);
    return sent;
  }

  /**
   * Sends an event and waits in the background for the planner's decision. The first call starts to
   * read the topics that tell it. May block as {@link #publish} does.
   *
   * @return the outcome; it does not complete while no planner runs, so use {@link
   *     CompletableFuture#orTimeout} or a timed get. Fails as {@link #publish} does
   * @throws io.shardtide.workload.RejectedException if two changes are of one table, or of the
   *     cluster
   * @throws io.shardtide.log.MissingTopicException if the cluster does not have the planner's
   *     topics
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer
   */
  public final CompletableFuture<Outcome> publishAndAwait(E event) {
    check(event);
    return outcomes().pending.send(idOf.apply(event), () -> publish(event));
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
  public final synchronized void close() {
    sender.close();
    if (outcomes != null) {
      outcomes.close();
    }
    registry.close();
  }
}
