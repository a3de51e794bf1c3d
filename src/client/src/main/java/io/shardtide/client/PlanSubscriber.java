package io.shardtide.client;

import static io.shardtide.wire.TopicType.CURRENT_PLANS;

import io.shardtide.plan.ShardingPlan;
import java.util.Optional;

/**
 * Receives plans: first the latest plan of each workload, then each new plan as it is published. It
 * keeps no offsets: after a restart it receives the latest plans again, from the compacted topic
 * current-plans.
 *
 * <pre>{@code
 * Endpoint endpoint = Endpoint.of(bootstrapServers, registryUrl);
 * CountDownLatch received = new CountDownLatch(1);
 * try (PlanSubscriber plans =
 *     PlanSubscriber.start(
 *         endpoint,
 *         Optional.of("feed-ranking"),
 *         update -> {
 *           System.out.println("plan " + update.plan().planId());
 *           for (Shard shard : update.plan().shards()) {
 *             System.out.printf(
 *                 "%s columns %d+%d on device %d%n",
 *                 shard.table(), shard.columnOffset(), shard.columns(), shard.device());
 *           }
 *           update.diff().ifPresent(diff -> System.out.println(diff.moved().size() + " moved"));
 *           received.countDown();
 *         })) {
 *   received.await(30, TimeUnit.SECONDS);
 * }
 * }</pre>
 *
 * <p>A trainer reports what it does with a plan, and the costs it measures, with {@link #reports}.
 */
public final class PlanSubscriber extends Subscription<ShardingPlan> {
  private final Endpoint endpoint;

  private PlanSubscriber(Endpoint endpoint, Optional<String> workloadId, PlanListener listener) {
    super(
        endpoint,
        CURRENT_PLANS,
        workloadId,
        listener,
        (plan, previous) -> listener.plan(new PlanUpdate(plan, previous)));
    this.endpoint = endpoint;
  }

  /**
   * Connects and starts to receive.
   *
   * @param endpoint the cluster and the registry
   * @param workloadId the workload whose plans are received; empty for all workloads
   * @param listener receives the plans, on a thread of this subscriber
   * @throws IllegalStateException if the cluster does not have the topic current-plans: no planner
   *     was started there, or it has another topic prefix
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer within the
   *     time-out: {@link Endpoint#withTimeout}
   */
  public static PlanSubscriber start(
      Endpoint endpoint, Optional<String> workloadId, PlanListener listener) {
    return new PlanSubscriber(endpoint, workloadId, listener);
  }

  /**
   * Returns a reporter for a trainer, to be closed before this subscriber.
   *
   * @param source name of the trainer, for people
   * @param run id of this run of the trainer; another one after each start
   */
  public TrainerReports reports(String source, String run) {
    return TrainerReports.connect(endpoint, registry, source, run);
  }
}
