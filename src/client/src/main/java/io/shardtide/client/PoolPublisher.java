package io.shardtide.client;

import static io.shardtide.wire.TopicType.POOL_CHANGES;

import io.shardtide.pool.PoolChange;
import io.shardtide.workload.SourcePosition;
import java.time.InstantSource;
import java.util.concurrent.CompletableFuture;

/**
 * Publishes events of pools: their nodes, and the claims of workloads on them. Safe for use by
 * several threads; share one publisher within a process.
 *
 * <p>An event with a value out of range is refused before it is sent, with a {@link
 * io.shardtide.workload.RejectedException}. The planner decides on the others:
 *
 * <pre>{@code
 * Endpoint endpoint = Endpoint.of(bootstrapServers, registryUrl);
 * try (PoolPublisher publisher = PoolPublisher.connect(endpoint, "operator")) {
 *   Outcome outcome =
 *       publisher
 *           .change("gpus")
 *           .set(
 *               Pool.of(
 *                   8,
 *                   80L << 30,
 *                   0,
 *                   "h200",
 *                   List.of(new PoolNode("n1", "r1"), new PoolNode("n2", "r1"))))
 *           .claim(new Claim("search-ads", 8, 16, 1.0, 0))
 *           .sendAndAwait()
 *           .get(30, TimeUnit.SECONDS);
 *   if (outcome instanceof Outcome.Rejected rejected) {
 *     System.out.println(rejected.reason() + ": " + rejected.message());
 *   } else if (outcome instanceof Outcome.Accepted accepted) {
 *     System.out.println("allocated at generation " + accepted.generation().getAsLong());
 *   }
 * }
 * }</pre>
 */
public final class PoolPublisher implements AutoCloseable {
  private final String source;
  private final InstantSource clock;
  private final EventSender<PoolChange> sender;

  private PoolPublisher(Endpoint endpoint, String source, InstantSource clock) {
    this.source = source;
    this.clock = clock;
    sender =
        new EventSender<>(
            endpoint, endpoint.topics().of(POOL_CHANGES), PoolChange::eventId, PoolOutcomes::new);
  }

  /**
   * Creates a publisher; the first event connects.
   *
   * @param endpoint the cluster and the registry
   * @param source name of the publisher, for people
   */
  public static PoolPublisher connect(Endpoint endpoint, String source) {
    return connect(endpoint, source, InstantSource.system());
  }

  /** As {@link #connect(Endpoint, String)}, with the clock that dates events. */
  public static PoolPublisher connect(Endpoint endpoint, String source, InstantSource clock) {
    return new PoolPublisher(endpoint, source, clock);
  }

  /** Begins an event of a pool, with a random id. The planner applies an id once. */
  public PendingPoolChange change(String poolId) {
    return new PendingPoolChange(this, poolId, source, clock.instant());
  }

  /**
   * Sends an event. May block until Kafka and the registry answer: {@link Endpoint#withTimeout}.
   *
   * @return its position on pool-changes, when all in-sync replicas have it; or Kafka's error: then
   *     it may be on the log or not, and sending the same event again is safe. Kafka's {@code
   *     AuthenticationException} comes within seconds if the brokers do not accept this client, and
   *     {@code AuthorizationException} if it lacks an ACL; their messages say what to do
   */
  public CompletableFuture<SourcePosition> publish(PoolChange event) {
    return sender.send(event);
  }

  /**
   * Sends an event and waits in the background for the planner's decision. The first call starts to
   * read pool-changes, current-allocations and rejected-events. May block as {@link #publish} does.
   *
   * @return {@link Outcome.Accepted} with the first allocation that contains the event, or {@link
   *     Outcome.Rejected}; {@link io.shardtide.workload.RejectionReason#PLANNING_FAILED} if the
   *     event was applied and its pool could not be allocated. With a new claim that takes up to 10
   *     s, while the workload's throughput is predicted. It does not complete while no planner
   *     runs, so use {@link CompletableFuture#orTimeout} or a timed get. Fails as {@link #publish}
   *     does
   * @throws io.shardtide.log.MissingTopicException if the cluster does not have the topics of
   *     pools: no planner with {@code pools.enabled=true} was started there
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer
   */
  public CompletableFuture<Outcome> publishAndAwait(PoolChange event) {
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
