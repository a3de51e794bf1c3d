package io.shardtide.client;

import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.InstantSource;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Publishes changes to workloads. May be used by several threads.
 *
 * <p>A change that is not legal by itself is refused before it is sent, by a {@link
 * io.shardtide.domain.RejectedException}. What only the planner can know, it says in an {@link
 * Outcome}:
 *
 * <pre>{@code
 * Endpoint endpoint = Endpoint.of(bootstrapServers, registryUrl);
 * try (WorkloadPublisher publisher = WorkloadPublisher.connect(endpoint, "feature-pipeline")) {
 *   Outcome outcome =
 *       publisher
 *           .change("feed-ranking")
 *           .upsert(new TableSpec("user_id", 40_000_000, 128, 1.0, ReuseHistogram.UNKNOWN, 4))
 *           .upsert(new TableSpec("item_id", 5_000_000, 64, 20.5, ReuseHistogram.UNKNOWN, 4))
 *           .cluster(new ClusterSpec(8, 24L << 30, 65_536, 8, "simulated"))
 *           .sendAndAwait()
 *           .get(30, TimeUnit.SECONDS);
 *   if (outcome instanceof Outcome.Rejected rejected) {
 *     System.out.println(rejected.reason() + ": " + rejected.message());
 *   } else if (outcome instanceof Outcome.Accepted accepted) {
 *     System.out.println("generation " + accepted.generation().getAsLong());
 *   }
 * }
 * }</pre>
 */
public final class WorkloadPublisher implements AutoCloseable {
  private final Endpoint endpoint;
  private final String source;
  private final InstantSource clock;
  private final Registry registry;
  private final Topic<WorkloadChange> topic;
  private final Serializer<WorkloadChange> serializer;
  private final RecordSender sender;
  private PendingOutcomes answers;

  private WorkloadPublisher(Endpoint endpoint, String source, InstantSource clock) {
    this.endpoint = endpoint;
    this.source = source;
    this.clock = clock;
    registry = endpoint.connectRegistry();
    topic = endpoint.topics().workloadChanges();
    serializer = registry.serde(topic).serializer();
    sender = new RecordSender(endpoint, topic.maxMessageBytes());
  }

  /**
   * Connects.
   *
   * @param endpoint where the log is
   * @param source who publishes, for people
   */
  public static WorkloadPublisher connect(Endpoint endpoint, String source) {
    return connect(endpoint, source, InstantSource.system());
  }

  /** Connects as {@link #connect(Endpoint, String)} does, with a clock that dates changes. */
  public static WorkloadPublisher connect(Endpoint endpoint, String source, InstantSource clock) {
    return new WorkloadPublisher(endpoint, source, clock);
  }

  /** Begins a change, which has an id of its own from here on: sent twice, it is applied once. */
  public PendingChange change(String workloadId) {
    return new PendingChange(this, workloadId, source, clock.instant());
  }

  /**
   * Publishes a change.
   *
   * @return where it lies in the log, once the cluster has it on all its copies; completed with an
   *     error of Kafka's if it could not be sent. Then it is not known whether it is in the log:
   *     sending it again is safe
   */
  public CompletableFuture<SourcePosition> publish(WorkloadChange event) {
    return sender.send(topic, serializer, event.workloadId(), event);
  }

  /**
   * Publishes a change, and waits for what becomes of it. The first call begins to listen to
   * cost-predictions and rejected-events.
   *
   * @return what became of it; it waits as long as no planner runs, so give up with {@link
   *     CompletableFuture#orTimeout} or a timed get
   */
  @SuppressWarnings("FutureReturnValueIgnored") // Whoever waits hears of failures.
  public CompletableFuture<Outcome> publishAndAwait(WorkloadChange event) {
    PendingOutcomes heard = answers();
    UUID id = event.eventId();
    CompletableFuture<Outcome> outcome = heard.expect(id);
    try {
      publish(event)
          .whenComplete(
              (position, error) -> {
                if (error == null) {
                  heard.sent(id, position);
                } else {
                  heard.unsent(id, error);
                }
              });
    } catch (RuntimeException e) {
      heard.unsent(id, e);
    }
    return outcome;
  }

  private synchronized PendingOutcomes answers() {
    if (answers == null) {
      answers = new PendingOutcomes(endpoint, registry);
    }
    return answers;
  }

  /**
   * Sends what is on its way, and lets go of the cluster. Whoever waits for an outcome hears so.
   */
  @Override
  public synchronized void close() {
    sender.close();
    if (answers != null) {
      answers.close();
    }
    try {
      registry.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
