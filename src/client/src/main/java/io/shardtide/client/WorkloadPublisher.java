package io.shardtide.client;

import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.workload.WorkloadChange;

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
public final class WorkloadPublisher extends Publisher<WorkloadChange> {
  private WorkloadPublisher(Endpoint endpoint, String source) {
    super(endpoint, source, WORKLOAD_CHANGES, WorkloadChange::eventId, PendingOutcomes::new);
  }

  /**
   * Creates a publisher; the first event connects.
   *
   * @param endpoint the cluster and the registry
   * @param source name of the publisher, for people
   */
  public static WorkloadPublisher connect(Endpoint endpoint, String source) {
    return new WorkloadPublisher(endpoint, source);
  }

  /** Begins an event of a workload, with a random id. The planner applies an id once. */
  public PendingChange change(String workloadId) {
    return new PendingChange(this, workloadId);
  }

  @Override
  void check(WorkloadChange event) {
    event.checkDistinct();
  }
}
