package io.shardtide.client;

import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.SourcePosition;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

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
public final class PlanSubscriber implements AutoCloseable {
  private final Endpoint endpoint;
  private final Registry registry;
  private final PlanListener listener;
  private final TopicReader reader;
  private final Map<String, ShardingPlan> latest = new TreeMap<>();
  private boolean caughtUp;

  private PlanSubscriber(Endpoint endpoint, Optional<String> workloadId, PlanListener listener) {
    this.endpoint = endpoint;
    this.listener = listener;
    registry = endpoint.connectRegistry();
    try {
      Topic<ShardingPlan> topic = endpoint.topics().currentPlans();
      reader =
          endpoint
              .reader(registry)
              .onlyKey(workloadId)
              .handle(
                  topic,
                  StartPosition.BEGINNING,
                  Optional.of(ShardingPlan::workloadId),
                  this::receive)
              .onTombstone(topic, (position, workload) -> delete(workload))
              .onCaughtUp(this::catchUp)
              .onUndecodable(listener::undecodable)
              .onWaiting(listener::waiting)
              .onFailure(listener::failed);
      reader.open();
    } catch (RuntimeException e) {
      close(registry);
      throw e;
    }
    reader.start("shardtide-plans");
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

  private void receive(SourcePosition position, Instant writtenAt, ShardingPlan plan) {
    Optional<ShardingPlan> previous = Optional.ofNullable(latest.put(plan.workloadId(), plan));
    if (caughtUp) {
      listener.plan(new PlanUpdate(plan, previous));
    }
  }

  private void delete(String workloadId) {
    if (latest.remove(workloadId) != null && caughtUp) {
      listener.deleted(workloadId);
    }
  }

  private void catchUp() {
    caughtUp = true;
    latest.values().forEach(plan -> listener.plan(new PlanUpdate(plan, Optional.empty())));
    listener.caughtUp();
  }

  private static void close(Registry registry) {
    try {
      registry.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Ends the subscription. Returns when a call of the listener that runs has returned. */
  @Override
  public void close() {
    reader.close();
    close(registry);
  }
}
