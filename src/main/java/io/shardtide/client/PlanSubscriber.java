package io.shardtide.client;

import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.SourcePosition;
import io.shardtide.wire.Registry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;

/**
 * Hears plans: first the latest of each workload, then each new one as it is published. Nothing is
 * remembered between runs, and nothing needs to be: the latest plans are on current-plans for ever.
 *
 * <pre>{@code
 * Endpoint endpoint = Endpoint.of(bootstrapServers, registryUrl);
 * CountDownLatch heard = new CountDownLatch(1);
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
 *           heard.countDown();
 *         })) {
 *   heard.await(30, TimeUnit.SECONDS);
 * }
 * }</pre>
 *
 * <p>A trainer says what it does with a plan, and what that costs it, with {@link #reports}.
 */
public final class PlanSubscriber implements AutoCloseable {
  private final Endpoint endpoint;
  private final Registry registry;
  private final PlanListener listener;
  private final TopicFollower tail;
  private final Map<TopicPartition, Long> ends;
  private final Map<String, ShardingPlan> latest = new TreeMap<>();
  private boolean caughtUp;

  private PlanSubscriber(Endpoint endpoint, Optional<String> workloadId, PlanListener listener) {
    this.endpoint = endpoint;
    this.listener = listener;
    registry = endpoint.connectRegistry();
    tail =
        new TopicFollower(endpoint, registry, workloadId)
            .follow(
                endpoint.topics().currentPlans(), Optional.of(ShardingPlan::workloadId), this::take)
            .each(this::catchUp)
            .unreadable(listener::unreadable)
            .failed(listener::failed);
    ends = tail.assign(true);
    tail.start();
  }

  /**
   * Starts.
   *
   * @param endpoint where the log is
   * @param workloadId whose plans are heard; empty for all
   * @param listener hears them
   * @throws IllegalStateException if there is no planner's topic on the cluster
   */
  public static PlanSubscriber start(
      Endpoint endpoint, Optional<String> workloadId, PlanListener listener) {
    return new PlanSubscriber(endpoint, workloadId, listener);
  }

  /**
   * Returns what a trainer says with.
   *
   * @param source who reports, for people
   * @param run which run of the trainer reports: another text after each start
   */
  public TrainerReports reports(String source, String run) {
    return TrainerReports.connect(endpoint, registry, source, run);
  }

  private void take(SourcePosition at, ShardingPlan plan) {
    if (caughtUp) {
      say(plan, Optional.ofNullable(latest.put(plan.workloadId(), plan)));
    } else {
      latest.put(plan.workloadId(), plan);
    }
  }

  private void say(ShardingPlan plan, Optional<ShardingPlan> previous) {
    listener.plan(new PlanUpdate(plan, previous));
  }

  private void catchUp() {
    if (!caughtUp && tail.isPast(ends)) {
      caughtUp = true;
      latest.values().forEach(plan -> say(plan, Optional.empty()));
      listener.caughtUp();
    }
  }

  /** Stops hearing; a plan that is being heard is heard to its end. */
  @Override
  public void close() {
    tail.close();
    try {
      registry.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
