package io.shardtide.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.Registry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A trainer whose Kafka cluster goes away and comes back: it loses reports, and waits for none. */
class LostClusterIT {
  private static final Duration PATIENCE = Duration.ofSeconds(90);
  private static final int LOST = 3 * TrainerReports.MAX_MEASUREMENTS;

  @TempDir private Path folder;
  private final ShardingPlan plan = new SimulatedTrainer().plan();
  private final List<MeasuredDevice> devices =
      new SimulatedTrainer().measured(plan, device -> 1).devices();

  /** A planner makes the topics. */
  private void makeTopics(EmbeddedKafka kafka, DevelopmentRegistry registry) throws Exception {
    PlannerService.start(
            new PlannerParts(
                TestSettings.of(
                        kafka.bootstrapServers(), registry.url(), "l.", folder.resolve("state"))
                    .build(),
                List.of(TestModels.bundle()),
                PlainTowers::new))
        .close();
  }

  @Test
  void an_outage_costs_reports_and_no_steps() throws Exception {
    EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"));
    int port = Integer.parseInt(kafka.bootstrapServers().replaceAll(".*:", ""));
    try (DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.of(folder))) {
      makeTopics(kafka, registry);
      Endpoint endpoint =
          Endpoint.of(kafka.bootstrapServers(), registry.url())
              .withPrefix("l.")
              .withTimeout(Duration.ofSeconds(2));
      try (Registry schemas = endpoint.connectRegistry();
          TrainerReports reports = TrainerReports.connect(endpoint, schemas, "trainer", "run")) {
        reports.measured(plan, 0, 1, devices).get();
        kafka.close();
        // A report that waited for Kafka would do so for two seconds.
        List<CompletableFuture<Void>> lost =
            CompletableFuture.supplyAsync(
                    () ->
                        IntStream.rangeClosed(1, LOST)
                            .mapToObj(step -> reports.measured(plan, step, 1, devices))
                            .toList())
                .get(60, TimeUnit.SECONDS);
        assertThat(lost).hasSize(LOST);
        await()
            .atMost(PATIENCE)
            .until(() -> reports.undelivered() >= LOST - TrainerReports.MAX_MEASUREMENTS);

        kafka = EmbeddedKafka.start(folder.resolve("kafka"), port, Map.of());
        int[] step = {LOST};
        await()
            .atMost(PATIENCE)
            .ignoreExceptions()
            .untilAsserted(() -> assertThat(next(reports, ++step[0])).isCompleted());
      }
    } finally {
      kafka.close();
    }
  }

  private CompletableFuture<Void> next(TrainerReports reports, int step) throws Exception {
    CompletableFuture<Void> sent = reports.measured(plan, step, 1, devices);
    sent.get();
    return sent;
  }
}
