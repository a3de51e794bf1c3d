package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.state.PlanningSettings;
import io.shardtide.step.Planner;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A search that does not end, in a planner on a real broker with one partition. */
@Tag("nightly")
class SlowSearchIT {
  private static final String PREFIX = SharedCluster.freshPrefix();
  private static final int OTHERS = 20;

  private static PlannerService start(
      ServiceSettings settings,
      ServiceHealth health,
      BiFunction<GroupedProblem, SearchSettings, SearchResult> search)
      throws Exception {
    return PlannerService.start(
        new PlannerParts(settings, List.of(TestModels.bundle()), TensorFlowTowers::new)
            .with()
            .health(health)
            .planner(new Planner(InstantSource.system(), System::nanoTime, search))
            .build());
  }

  /** Returns a search that waits, for workloads with a table of some name, until it may end. */
  private static BiFunction<GroupedProblem, SearchSettings, SearchResult> slow(
      CountDownLatch begun, CountDownLatch end) {
    return (problem, settings) -> {
      if (problem.tables().stream().anyMatch(t -> t.table().name().equals("slow"))) {
        begun.countDown();
        try {
          end.await();
        } catch (InterruptedException e) {
          throw new CancellationException("the planner closes");
        }
      }
      return GroupSearch.search(problem, settings);
    };
  }

  private static void publish(LogClient client, String workloadId, String table) throws Exception {
    client.publish(
        Fixtures.eventOf(workloadId, set(4, Fixtures.GIB), upsert(table, 100_000, 64, 5)));
  }

  @Test
  void others_get_their_plans_meanwhile_and_a_restart_loses_nothing(@TempDir Path folder)
      throws Exception {
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    try (LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), PREFIX)) {
      ServiceSettings settings =
          TestSettings.of(kafka.bootstrapServers(), registry.url(), PREFIX, folder.resolve("state"))
              .partitions(1)
              .planning(PlanningSettings.DEFAULTS)
              .build();
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch end = new CountDownLatch(1);
      try (ServiceHealth health = ServiceHealth.unwatched(settings);
          PlannerService service = start(settings, health, slow(begun, end))) {
        assertThat(service).isNotNull();
        publish(client, "poison", "slow");
        begun.await();
        for (int i = 0; i < OTHERS; i++) {
          publish(client, "w" + i, "a");
        }
        assertThat(client.plans(OTHERS))
            .extracting(ShardingPlan::workloadId)
            .hasSize(OTHERS)
            .doesNotContain("poison");
        publish(client, "w0", "b");
        assertThat(client.plans(OTHERS + 1)).last().returns("w0", ShardingPlan::workloadId);
        assertThat(client.aborted(client.topics().of(SHARDING_PLANS))).isZero();
        assertThat(health.parts())
            .filteredOn(part -> part.name().equals("planning topology"))
            .allMatch(part -> part.problem().isEmpty());
      }
      // The search was interrupted; the next planner begins it again.
      CountDownLatch again = new CountDownLatch(1);
      CountDownLatch endNow = new CountDownLatch(1);
      try (ServiceHealth health = ServiceHealth.unwatched(settings);
          PlannerService service = start(settings, health, slow(again, endNow))) {
        assertThat(service).isNotNull();
        again.await();
        publish(client, "w1", "b");
        assertThat(client.plans(OTHERS + 2)).last().returns("w1", ShardingPlan::workloadId);
        endNow.countDown();
        List<ShardingPlan> plans = client.plans(OTHERS + 3);
        assertThat(plans)
            .last()
            .returns("poison", ShardingPlan::workloadId)
            .returns(1L, ShardingPlan::generation);
        assertThat(client.rejected(0)).isEmpty();
      }
    }
  }
}
