package io.shardtide.topology;

import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.config.ServiceSettings;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.JavaProcess;
import io.shardtide.embedded.KafkaCluster;
import io.shardtide.log.ClusterUnavailableException;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.workload.WorkloadChange;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.apache.kafka.common.errors.NotEnoughReplicasException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Fewer replicas are in sync than {@code min.insync.replicas}, for longer than any client waits.
 * The time-outs are short, so that seconds are enough. {@code -Doutage.seconds=600} has ten minutes
 * and the product's own time-outs.
 */
@Tag("nightly")
class UnwritablePartitionsIT {
  private static final int OUTAGE_SECONDS = Integer.getInteger("outage.seconds", 25);
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  /**
   * Those that end a wait of a planner: of its producers for the brokers, of Kafka Streams for its
   * clients, and of the brokers for a transaction. By default the longest is five minutes.
   */
  private static final Map<String, String> TIMEOUTS =
      OUTAGE_SECONDS >= 600
          ? Map.of()
          : Map.of(
              "producer.request.timeout.ms", "2000",
              "producer.delivery.timeout.ms", "5000",
              "producer.max.block.ms", "5000",
              "default.api.timeout.ms", "5000",
              "request.timeout.ms", "2000",
              "task.timeout.ms", "5000",
              "max.poll.interval.ms", "10000");

  @TempDir private Path folder;

  @Test
  void planners_wait_for_replicas_and_lose_nothing() throws Exception {
    String prefix = SharedCluster.freshPrefix();
    try (DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.empty());
        KafkaCluster brokers =
            KafkaCluster.of(folder.resolve("kafka"), 3)
                .set("min.insync.replicas", "3")
                // A busy machine must not take a broker that lives for dead.
                .set("broker.session.timeout.ms", "6000")
                .start()) {
      ServiceSettings settings =
          TestSettings.of(
                  brokers.bootstrapServers(), registry.url(), prefix, folder.resolve("state"))
              .replication(3)
              .kafka(TIMEOUTS)
              .build();
      Endpoint endpoint =
          Endpoint.of(brokers.bootstrapServers(), registry.url())
              .withPrefix(prefix)
              .withTimeout(Duration.ofSeconds(3));
      try (ServiceHealth health = ServiceHealth.watch(settings);
          PlannerService planner =
              PlannerService.start(
                  new PlannerParts(settings, List.of(TestModels.bundle()), PlainTowers::new)
                      .with()
                      .health(health)
                      .build());
          WorkloadPublisher publisher = WorkloadPublisher.connect(endpoint, "features");
          LogClient client = new LogClient(brokers.bootstrapServers(), registry.url(), prefix)) {
        await().atMost(PATIENCE).until(planner::isRunning);
        awaitPublished(publisher, change(1));
        client.plans(1);
        await().atMost(PATIENCE).until(() -> kafka(health).isEmpty());

        JavaProcess broker = brokers.brokers().get(2);
        broker.kill();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(OUTAGE_SECONDS);
        await()
            .atMost(PATIENCE)
            .dontCatchUncaughtExceptions()
            .untilAsserted(
                () ->
                    assertThat(kafka(health).orElse(""))
                        .contains(" partitions cannot be written: ")
                        .contains(
                            "2 of 3 replicas in sync, expected at least 3 (min.insync.replicas)")
                        .contains("Start the stopped brokers"));
        assertThat(health.unwritablePartitions()).isPositive();
        assertThat(published(publisher, change(2)))
            .hasValueSatisfying(
                error ->
                    assertThat(error)
                        .isInstanceOfAny(
                            ClusterUnavailableException.class, NotEnoughReplicasException.class));
        TimeUnit.NANOSECONDS.sleep(end - System.nanoTime());

        broker.start();
        broker.awaitReady();
        for (int generation = 2; generation <= 5; generation++) {
          awaitPublished(publisher, change(generation));
        }
        await()
            .atMost(PATIENCE)
            .dontCatchUncaughtExceptions()
            .untilAsserted(
                () ->
                    assertThat(client.committed(client.topics().of(SHARDING_PLANS)))
                        .extracting(ShardingPlan::generation)
                        .containsExactlyElementsOf(LongStream.rangeClosed(1, 5).boxed().toList()));
        await()
            .atMost(PATIENCE)
            .dontCatchUncaughtExceptions()
            .until(() -> kafka(health).isEmpty() && planner.isRunning());
      }
    }
  }

  private static WorkloadChange change(int generation) {
    return generation == 1
        ? Fixtures.numbered(1, Fixtures.set(4, Fixtures.GIB), Fixtures.upsert("t1", 1_000, 64, 2))
        : Fixtures.numbered(generation, Fixtures.upsert("t" + generation, 1_000, 64, 2));
  }

  /** Publishes until Kafka has the event, with the same id. */
  private static void awaitPublished(WorkloadPublisher publisher, WorkloadChange change) {
    await()
        .atMost(PATIENCE)
        .dontCatchUncaughtExceptions()
        .until(() -> published(publisher, change).isEmpty());
  }

  /** Publishes an event; returns why Kafka does not have it. */
  private static Optional<Throwable> published(WorkloadPublisher publisher, WorkloadChange change)
      throws InterruptedException {
    try {
      publisher.publish(change).get();
      return Optional.empty();
    } catch (ExecutionException e) {
      return Optional.of(e.getCause());
    }
  }

  private static Optional<String> kafka(ServiceHealth health) {
    return health.parts().get(0).problem();
  }
}
