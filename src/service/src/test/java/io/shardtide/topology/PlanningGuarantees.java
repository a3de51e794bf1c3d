package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.numbered;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.plan.ColumnCuts;
import io.shardtide.plan.Effort;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.Plans;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What the planner promises on any Kafka cluster with any registry; each kind of cluster extends
 * it.
 */
abstract class PlanningGuarantees {
  @TempDir private Path folder;

  abstract String bootstrapServers();

  abstract String registryUrl();

  ServiceSettings settings(String prefix, Path state) {
    return settings(prefix, state, 3, PlanningSettings.eachGeneration(SearchSettings.QUICK));
  }

  private ServiceSettings settings(
      String prefix, Path state, int partitions, PlanningSettings planning) {
    return TestSettings.of(bootstrapServers(), registryUrl(), prefix, state)
        .partitions(partitions)
        .planning(planning)
        .kafka(clients())
        .build();
  }

  /** Settings of Kafka's clients; a cluster may not accept {@link TestSettings#SHORT_SESSIONS}. */
  Map<String, String> clients() {
    return Map.of();
  }

  PlannerService start(String prefix, Path state) throws Exception {
    return start(settings(prefix, state));
  }

  private static PlannerService start(ServiceSettings settings) throws Exception {
    return PlannerService.start(
        new PlannerParts(settings, List.of(TestModels.bundle()), TensorFlowTowers::new));
  }

  /** A workload's life: nine plans, one generation that does not fit. */
  static List<WorkloadChange> life() {
    List<WorkloadChange> events = new ArrayList<>();
    events.add(numbered(0, set(4, Fixtures.GIB), upsert("a", 1_000_000, 64, 20)));
    events.add(numbered(1, upsert("b", 500_000, 128, 5), upsert("c", 10_000, 32, 80)));
    events.add(numbered(2, upsert("d", 2_000_000, 64, 1)));
    events.add(numbered(3, upsert("huge", 1_000_000_000, 64, 1)));
    events.add(numbered(4, drop("huge"), upsert("e", 50_000, 16, 3)));
    events.add(numbered(5, set(3, Fixtures.GIB)));
    events.add(numbered(6, upsert("a", 1_200_000, 64, 40)));
    events.add(numbered(7, drop("c")));
    events.add(numbered(8, set(6, Fixtures.GIB)));
    events.add(numbered(9, upsert("f", 9_999, 4, 9), upsert("g", 77_777, 8, 2)));
    return events;
  }

  @Test
  void changes_become_plans_and_invalid_ones_are_reported() throws Exception {
    String prefix = SharedCluster.freshPrefix();
    try (PlannerService service = start(prefix, folder);
        LogClient client = new LogClient(bootstrapServers(), registryUrl(), prefix)) {
      assertThat(service).isNotNull();
      for (WorkloadChange event : life()) {
        client.publish(event);
      }
      client.publish(life().get(2));
      client.publish(Fixtures.WORKLOAD, "noise".getBytes(StandardCharsets.UTF_8));
      List<ShardingPlan> plans = client.plans(9);
      assertThat(plans)
          .extracting(ShardingPlan::generation)
          .containsExactly(1L, 2L, 3L, 5L, 6L, 7L, 8L, 9L, 10L);
      for (int p = 0; p < plans.size(); p++) {
        assertThat(plans.get(p).planId()).isEqualTo(plans.get(p).contentId());
        assertThat(plans.get(p).origin().modelId()).isEqualTo(TestModels.bundle().modelId());
        if (p > 0) {
          assertThat(plans.get(p).origin().previousPlanId()).contains(plans.get(p - 1).planId());
        }
      }
      assertThat(client.infeasible(1)).hasSize(1);
      assertThat(client.rejected(2))
          .extracting(RejectedEvent::reason)
          .containsExactly(RejectionReason.DUPLICATE_EVENT, RejectionReason.UNDECODABLE);
      assertThat(client.read(client.topics().of(COST_MODELS), 1))
          .singleElement()
          .satisfies(m -> assertThat(m.modelId()).isEqualTo(TestModels.bundle().modelId()));
    }
  }

  /**
   * Stopped and started between any two events, with its state and without: the same plans, none
   * twice, none lost.
   */
  @Test
  void a_restart_changes_no_plan() throws Exception {
    String calm = SharedCluster.freshPrefix();
    String restless = SharedCluster.freshPrefix();
    try (LogClient calmClient = new LogClient(bootstrapServers(), registryUrl(), calm);
        LogClient restlessClient = new LogClient(bootstrapServers(), registryUrl(), restless)) {
      try (PlannerService service = start(calm, folder.resolve("calm"))) {
        assertThat(service).isNotNull();
        for (WorkloadChange event : life()) {
          calmClient.publish(event);
        }
        calmClient.plans(9);
      }
      int published = 0;
      for (int leg : new int[] {2, 1, 3, 4}) {
        Path state = folder.resolve("restless");
        try (PlannerService service = start(restless, state)) {
          assertThat(service).isNotNull();
          for (int i = 0; i < leg; i++) {
            restlessClient.publish(life().get(published++));
          }
          // The first legs end while records are still on their way.
          if (published == life().size()) {
            restlessClient.plans(9);
            restlessClient.awaitIdle();
          }
        }
        if (leg == 3) {
          delete(state);
        }
      }
      assertThat(restlessClient.plans(9))
          .extracting(ShardingPlan::planId)
          .containsExactlyElementsOf(
              calmClient.plans(9).stream().map(ShardingPlan::planId).toList());
      assertThat(restlessClient.rejected(0)).isEmpty();
      assertThat(restlessClient.infeasible(1)).hasSize(1);
      assertThat(restlessClient.read(restlessClient.topics().of(COST_MODELS), 1)).hasSize(1);
    }
  }

  /** Quiet for longer than the first instance lives: the next one plans what it left, once. */
  @Test
  void a_pending_change_survives_a_restart() throws Exception {
    String prefix = SharedCluster.freshPrefix();
    try (LogClient client = new LogClient(bootstrapServers(), registryUrl(), prefix)) {
      PlanningSettings patient =
          new PlanningSettings(
              Duration.ofSeconds(59),
              Duration.ofSeconds(59),
              SearchSettings.QUICK,
              Optional.empty(),
              Duration.ZERO,
              0,
              0);
      try (PlannerService service = start(settings(prefix, folder, 1, patient))) {
        assertThat(service).isNotNull();
        for (WorkloadChange event : life().subList(0, 3)) {
          client.publish(event);
        }
        client.read(client.topics().of(COST_PREDICTIONS), 4);
        client.awaitRead(prefix + "planning", client.topics().of(COST_PREDICTIONS));
      }
      assertThat(client.committed(client.topics().of(SHARDING_PLANS))).isEmpty();
      try (PlannerService service = start(settings(prefix, folder, 1, PlanningSettings.DEFAULTS))) {
        assertThat(service).isNotNull();
        assertThat(client.plans(1))
            .singleElement()
            .satisfies(
                plan -> {
                  assertThat(plan.origin().firstGeneration()).isEqualTo(1);
                  assertThat(plan.generation()).isEqualTo(3);
                });
      }
    }
  }

  /**
   * One partition for both: a background search takes a second, and what changes meanwhile is
   * first.
   */
  @Test
  void no_change_waits_for_the_background_search_of_another_workload() throws Exception {
    String prefix = SharedCluster.freshPrefix();
    PlanningSettings deep =
        new PlanningSettings(
            Duration.ZERO,
            Duration.ZERO,
            SearchSettings.QUICK,
            Optional.of(Fixtures.settings(5_000, 1_000_000, 10, 0.1, 0, 100_000)),
            Duration.ZERO,
            0,
            0);
    try (PlannerService service = start(settings(prefix, folder, 1, deep));
        LogClient client = new LogClient(bootstrapServers(), registryUrl(), prefix)) {
      assertThat(service).isNotNull();
      List<Change> tables = new ArrayList<>(List.of(set(8, 80 * Fixtures.GIB)));
      for (TableSpec table : Plans.randomTables(new Random(1), 800)) {
        tables.add(new Change.TableUpserted(table));
      }
      client.publish(numbered(0, tables.toArray(new Change[0])));
      client.plans(1);
      client.publish(Fixtures.eventOf("live", set(2, Fixtures.GIB), upsert("a", 1_000, 8, 2)));
      client.plans(2);
      List<ShardingPlan> deeper =
          await()
              .atMost(Duration.ofMinutes(2))
              .until(
                  () -> client.committed(client.topics().of(SHARDING_PLANS)),
                  plans ->
                      plans.stream()
                          .anyMatch(
                              plan ->
                                  plan.origin().effort() == Effort.DEEP
                                      && plan.workloadId().equals(Fixtures.WORKLOAD)));
      assertThat(deeper.subList(0, 2))
          .as("in the order of the log")
          .extracting(ShardingPlan::workloadId, plan -> plan.origin().effort())
          .containsExactly(tuple(Fixtures.WORKLOAD, Effort.QUICK), tuple("live", Effort.QUICK));
    }
  }

  @Test
  void an_event_of_10000_tables_is_planned() throws Exception {
    String prefix = SharedCluster.freshPrefix();
    // Records of this size are the point, and not the search.
    SearchSettings brief = new SearchSettings(10, 0, 10, 2.5, 1_000, 1_000, ColumnCuts.EQUAL, 0.3);
    try (PlannerService service =
            start(
                TestSettings.of(bootstrapServers(), registryUrl(), prefix, folder)
                    .planning(PlanningSettings.eachGeneration(brief))
                    .build());
        LogClient client = new LogClient(bootstrapServers(), registryUrl(), prefix)) {
      assertThat(service).isNotNull();
      Change[] changes = new Change[10_000];
      changes[0] = set(2, 80 * Fixtures.GIB);
      for (int i = 1; i < changes.length; i++) {
        changes[i] =
            new Change.TableUpserted(
                new TableSpec("%0200d".formatted(i), 1_000, 4, 1, Fixtures.reuse(), 4));
      }
      client.publish(Fixtures.event(changes));
      assertThat(client.plans(1))
          .singleElement()
          .satisfies(plan -> assertThat(plan.shards()).hasSizeGreaterThanOrEqualTo(9_999));
    }
  }

  @Test
  void topics_are_created_with_their_settings() throws Exception {
    String prefix = SharedCluster.freshPrefix();
    try (PlannerService service = start(prefix, folder);
        Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers()))) {
      assertThat(service).isNotNull();
      ConfigResource plans =
          new ConfigResource(ConfigResource.Type.TOPIC, prefix + "current-plans");
      Config config = admin.describeConfigs(List.of(plans)).all().get().get(plans);
      assertThat(config.get("cleanup.policy").value()).isEqualTo("compact");
      assertThat(
              admin
                  .describeTopics(List.of(prefix + "workload-changes"))
                  .allTopicNames()
                  .get()
                  .get(prefix + "workload-changes")
                  .partitions())
          .hasSize(3);
    }
  }

  static void delete(Path directory) throws Exception {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }
}
