package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.RegistryFront;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A stream of changes, each by a publisher with a schema of its own, over a registry that fails.
 */
class RegistryFaultsIT {
  @TempDir private Path folder;

  private static boolean asksForASchema(String request) {
    return request.startsWith("GET /schemas/ids/");
  }

  @Test
  void whatever_the_registry_does_no_change_is_lost_or_rejected() throws Exception {
    List<WorkloadChange> events = PlanningGuarantees.life();
    CountDownLatch until = new CountDownLatch(1);
    DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.of(folder));
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"));
        RegistryFront front =
            new RegistryFront(registry.url(), Optional.empty(), Optional.empty(), "");
        LogClient client = new LogClient(kafka.bootstrapServers(), front.url(), "faults.");
        PlannerService service =
            PlannerService.start(
                new ServiceSettings(
                    kafka.bootstrapServers(),
                    front.url(),
                    "faults.",
                    1,
                    (short) 1,
                    folder.resolve("state"),
                    PlanningSettings.eachGeneration(SearchSettings.QUICK),
                    Map.of(),
                    Map.of("http.read.timeout.ms", "500", "retries.wait.ms", "1")),
                List.of(Fixtures.bundle()),
                TensorFlowTowers::new)) {
      assertThat(service).isNotNull();
      int published = 0;
      List<Runnable> faults =
          List.of(
              front::well,
              () -> front.fail(RegistryFaultsIT::asksForASchema, 503, 50301),
              () -> front.fail(RegistryFaultsIT::asksForASchema, 404, "<html>Not Found</html>"),
              () -> front.fail(RegistryFaultsIT::asksForASchema, 401, 401),
              () -> front.fail(RegistryFaultsIT::asksForASchema, 500, 50002),
              () -> front.hold(RegistryFaultsIT::asksForASchema, until));
      for (Runnable fault : faults) {
        byte[] value = client.withForeignSchema(events.get(published), "p" + published);
        fault.run();
        client.publish(Fixtures.WORKLOAD, value);
        published++;
        if (published > 1) {
          await()
              .atMost(Duration.ofSeconds(60))
              // Of the streams' threads, which end with it.
              .dontCatchUncaughtExceptions()
              .until(() -> front.met() > 0);
          until.countDown();
          front.well();
        }
      }
      for (; published < events.size(); published++) {
        byte[] value = client.withForeignSchema(events.get(published), "p" + published);
        registry.close();
        client.publish(Fixtures.WORKLOAD, value);
        registry = DevelopmentRegistry.start(0, Optional.of(folder));
        front.leadTo(registry.url());
      }
      assertThat(client.plans(9))
          .extracting(ShardingPlan::generation)
          .containsExactly(1L, 2L, 3L, 5L, 6L, 7L, 8L, 9L, 10L);
      assertThat(client.rejected(0)).isEmpty();
    } finally {
      until.countDown();
      registry.close();
    }
  }
}
