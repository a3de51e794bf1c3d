package io.shardtide.trainer.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.client.TrainerReports;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.PlannerService;
import io.shardtide.trainer.StepCosts;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A trainer whose Kafka cluster goes away and comes back: it loses reports, and no steps. */
class LostClusterIT {
  private static final Duration PATIENCE = Duration.ofSeconds(90);

  @TempDir private Path folder;
  private final AtomicLong reported = new AtomicLong();
  private final AtomicLong adoptions = new AtomicLong();

  private LiveTrainer train(Endpoint endpoint) {
    return LiveTrainer.start(
        endpoint,
        new LiveTrainer.LiveTrainerSettings(Fixtures.WORKLOAD, "trainer", "run", 1, 0.01f, 2, 1),
        new LiveTrainer.Watcher() {
          @Override
          public void adopted(ShardingPlan plan, long step, long movedBytes) {
            adoptions.incrementAndGet();
          }

          @Override
          public void measured(String planId, long step, StepCosts costs, double loss) {
            reported.incrementAndGet();
          }
        },
        InstantSource.system());
  }

  private PlannerService plan(EmbeddedKafka kafka, DevelopmentRegistry registry) throws Exception {
    return PlannerService.start(
        TestSettings.of(kafka.bootstrapServers(), registry.url(), "l.", folder.resolve("state"))
            .build(),
        List.of(Fixtures.bundle()),
        PlainTowers::new);
  }

  private static List<MeasuredCosts> measured(LogClient client) {
    return client.committed(client.topics().measuredCosts());
  }

  @Test
  void an_outage_costs_reports_and_no_steps() throws Exception {
    EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"));
    int port = Integer.parseInt(kafka.bootstrapServers().replaceAll(".*:", ""));
    try (DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.of(folder))) {
      Endpoint endpoint =
          Endpoint.of(kafka.bootstrapServers(), registry.url())
              .withPrefix("l.")
              .withTimeout(Duration.ofSeconds(2));
      LiveTrainer trainer;
      try (PlannerService service = plan(kafka, registry);
          LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), "l.")) {
        assertThat(service).isNotNull();
        client.publish(
            Fixtures.event(
                Fixtures.set(2, Fixtures.GIB),
                Fixtures.upsert("a", 1_000, 8, 1),
                Fixtures.upsert("b", 1_000, 8, 1)));
        client.plans(1);
        trainer = train(endpoint);
        await().atMost(PATIENCE).until(() -> !measured(client).isEmpty());
        assertThat(trainer.undeliveredReports()).isZero();
      }

      kafka.close();
      long before = reported.get();
      // More than the buffer holds: a trainer that waits for Kafka stops before.
      long enough = before + 3 * TrainerReports.MAX_MEASUREMENTS;
      await().atMost(PATIENCE).until(() -> reported.get() > enough);
      assertThat(trainer.undeliveredReports()).isGreaterThan(TrainerReports.MAX_MEASUREMENTS);
      trainer.check();

      kafka = EmbeddedKafka.start(folder.resolve("kafka"), port, Map.of());
      try (PlannerService service = plan(kafka, registry);
          LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), "l.")) {
        assertThat(service).isNotNull();
        int known = measured(client).size();
        await().atMost(PATIENCE).until(() -> measured(client).size() > known);
        client.publish(Fixtures.event(Fixtures.drop("b")));
        await().atMost(PATIENCE).until(() -> adoptions.get() == 2);
        trainer.check();
      }
      trainer.close();
    } finally {
      kafka.close();
    }
  }
}
