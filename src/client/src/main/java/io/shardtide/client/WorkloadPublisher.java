package io.shardtide.client;

import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.WorkloadChange;
import java.time.InstantSource;
import java.util.concurrent.CompletableFuture;

/**
 * Publishes events: changes to the tables and the cluster of workloads. Safe for use by several
 * threads; share one publisher within a process.
 *
 * <p>An event with a value out of range is refused before it is sent, with a {@link
 * io.shardtide.workload.RejectedException}. The planner decides on the others; its decision is an
 * {@link Outcome}:
 *
 * <pre>{@code
 * Endpoint endpoint = Endpoint.of(bootstrapServers, registryUrl);
 * try (WorkloadPublisher publisher = WorkloadPublisher.connect(endpoint, "feature-pipeline")) {
 *   Outcome outcome =
 *       publisher
 *           .change("feed-ranking")
 *           .upsert(new TableSpec("user_id", 40_000_000, 128, 1.0, ReuseHistogram.UNKNOWN, 4))
 *           .upsert(new TableSpec("item_id", 5_000_000, 64, 20.5, ReuseHistogram.UNKNOWN, 4))
 *           .cluster(new ClusterSpec(8, 24L << 30, 65_536, 8, "h200"))
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
  private final String source;
  private final InstantSource clock;
  private final EventSender<WorkloadChange> sender;

  private WorkloadPublisher(Endpoint endpoint, String source, InstantSource clock) {
    this.source = source;
    this.clock = clock;
    sender =
        new EventSender<>(
            endpoint,
            endpoint.topics().of(WORKLOAD_CHANGES),
            WorkloadChange::eventId,
            PendingOutcomes::new);
  }

  /**
   * Creates a publisher; the first event connects.
   *
   * @param endpoint the cluster and the registry
   * @param source name of the publisher, for people
   */
  public static WorkloadPublisher connect(Endpoint endpoint, String source) {
    return connect(endpoint, source, InstantSource.system());
  }

  /** As {@link #connect(Endpoint, String)}, with the clock that dates events. */
  public static WorkloadPublisher connect(Endpoint endpoint, String source, InstantSource clock) {
    return new WorkloadPublisher(endpoint, source, clock);
  }

  /** Begins an event of a workload, with a random id. The planner applies an id once. */
  public PendingChange change(String workloadId) {
    return new PendingChange(this, workloadId, source, clock.instant());
  }

  /**
   * Sends an event. May block until Kafka and the registry answer: {@link Endpoint#withTimeout}.
   *
   * @return its position on workload-changes, when all in-sync replicas have it; or Kafka's error:
   *     then it may be on the log or not, and sending the same event again is safe. Kafka's {@code
   *     AuthenticationException} comes within seconds if the brokers do not accept this client, and
   *     {@code AuthorizationException} if it lacks an ACL; their messages say what to do
   * @throws io.shardtide.workload.RejectedException if two changes are of one table, or of the
   *     cluster
   */
  public CompletableFuture<SourcePosition> publish(WorkloadChange event) {
    event.checkDistinct();
    return sender.send(event);
  }

  /**
   * Sends an event and waits in the background for the planner's decision. The first call starts to
   * read cost-predictions and rejected-events. May block as {@link #publish} does.
   *
   * @return the outcome; it does not complete while no planner runs, so use {@link
   *     CompletableFuture#orTimeout} or a timed get. Fails as {@link #publish} does
   * @throws io.shardtide.workload.RejectedException if two changes are of one table, or of the
   *     cluster
   * @throws IllegalStateException if the cluster does not have the planner's topics
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer
   */
  public CompletableFuture<Outcome> publishAndAwait(WorkloadChange event) {
    event.checkDistinct();
    return sender.sendAndAwait(event);
  }

  /**
   * Waits up to 5 seconds for events that are being sent. Futures that are not complete then
   * complete exceptionally.
   */
  @Override
  public void close() {
    sender.close();
  }
}
