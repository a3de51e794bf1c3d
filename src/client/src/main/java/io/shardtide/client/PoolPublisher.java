package io.shardtide.client;

import static io.shardtide.wire.TopicType.POOL_CHANGES;

import io.shardtide.pool.PoolChange;

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
 *
 * <p>The outcome is {@link Outcome.Accepted} with the first allocation that contains the event, or
 * {@link Outcome.Rejected}; {@link io.shardtide.workload.RejectionReason#PLANNING_FAILED} if the
 * event was applied and its pool could not be allocated. With a new claim that takes up to 10 s,
 * while the workload's throughput is predicted. The cluster has the topics of pools once a planner
 * with {@code pools.enabled=true} was started there.
 */
public final class PoolPublisher extends Publisher<PoolChange> {
  private PoolPublisher(Endpoint endpoint, String source) {
    super(endpoint, source, POOL_CHANGES, PoolChange::eventId, PoolOutcomes::new);
  }

  /**
   * Creates a publisher; the first event connects.
   *
   * @param endpoint the cluster and the registry
   * @param source name of the publisher, for people
   */
  public static PoolPublisher connect(Endpoint endpoint, String source) {
    return new PoolPublisher(endpoint, source);
  }

  /** Begins an event of a pool, with a random id. The planner applies an id once. */
  public PendingPoolChange change(String poolId) {
    return new PendingPoolChange(this, poolId);
  }
}
