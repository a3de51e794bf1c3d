package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.Topic;
import io.shardtide.workload.WorkloadChange;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What RUNBOOK says of things that are lost. */
class RecoveryIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir private Path folder;
  private final EmbeddedKafka kafka = SharedCluster.kafka();
  private final DevelopmentRegistry registry = SharedCluster.registry();

  private PlannerService planner(String prefix, List<ModelBundle> models) throws Exception {
    return PlannerService.start(
        new PlannerParts(
            TestSettings.of(
                    kafka.bootstrapServers(), registry.url(), prefix, folder.resolve(prefix))
                .build(),
            models,
            TensorFlowTowers::new));
  }

  private LogClient client(String prefix) {
    return new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
  }

  /** Five generations: tables that come, grow and go, and one that does not fit. */
  private static List<WorkloadChange> life() {
    return List.of(
        Fixtures.numbered(0, Fixtures.set(4, Fixtures.GIB), Fixtures.upsert("a", 100_000, 64, 20)),
        Fixtures.numbered(1, Fixtures.upsert("b", 500_000, 128, 5)),
        Fixtures.numbered(2, Fixtures.upsert("huge", 1_000_000_000, 64, 1)),
        Fixtures.numbered(3, Fixtures.drop("huge"), Fixtures.upsert("c", 9_999, 8, 2)),
        Fixtures.numbered(4, Fixtures.drop("b"), Fixtures.upsert("a", 200_000, 64, 20)));
  }

  /** Returns how many columns each table of a plan has. */
  private static Map<String, Integer> columns(ShardingPlan plan) {
    Map<String, Integer> columns = new TreeMap<>();
    plan.shards().forEach(shard -> columns.merge(shard.table(), shard.columns(), Integer::sum));
    return columns;
  }

  private static ShardingPlan last(List<ShardingPlan> plans) {
    return plans.get(plans.size() - 1);
  }

  /** The rebuild: an export, a planner with its models elsewhere, its events published again. */
  @Test
  void a_lost_cluster_is_rebuilt_from_an_export() throws Exception {
    String oldPrefix = SharedCluster.freshPrefix();
    String newPrefix = SharedCluster.freshPrefix();
    ShardingPlan before;
    try (LogClient client = client(oldPrefix);
        PlannerService service = planner(oldPrefix, List.of(TestModels.otherBundle()))) {
      assertThat(service).isNotNull();
      for (WorkloadChange event : life()) {
        client.publish(event);
      }
      client.publish(life().get(1));
      before = last(client.plans(4));
      assertThat(client.rejected(1)).as("a duplicate").hasSize(1);
    }
    Path out = folder.resolve("export");
    StringWriter err = new StringWriter();
    assertThat(
            Shardtide.run(
                new PrintWriter(new StringWriter()),
                new PrintWriter(err),
                "export",
                "--bootstrap",
                kafka.bootstrapServers(),
                "--registry",
                registry.url(),
                "--prefix",
                oldPrefix,
                "--out",
                out.toString()))
        .as(err.toString())
        .isZero();
    List<ModelBundle> models;
    try (var files = Files.list(out.resolve("models"))) {
      models = List.of(ModelFiles.read(files.findFirst().orElseThrow()));
    }
    assertThat(models.get(0).modelId()).isEqualTo(TestModels.otherBundle().modelId());
    try (LogClient client = client(newPrefix);
        PlannerService service = planner(newPrefix, models)) {
      assertThat(service).isNotNull();
      // 1: the duplicate is one again.
      assertThat(
              Shardtide.run(
                  new PrintWriter(new StringWriter()),
                  new PrintWriter(err),
                  "publish",
                  "--bootstrap",
                  kafka.bootstrapServers(),
                  "--registry",
                  registry.url(),
                  "--prefix",
                  newPrefix,
                  "--events",
                  out.resolve("events.jsonl").toString()))
          .as(err.toString())
          .isEqualTo(1);
      assertThat(client.rejected(1)).hasSize(1);
      ShardingPlan rebuilt = last(client.plans(4));
      assertThat(rebuilt.generation()).isEqualTo(before.generation()).isEqualTo(5);
      assertThat(columns(rebuilt)).isEqualTo(columns(before)).containsOnlyKeys("a", "c");
      assertThat(rebuilt.origin().modelId()).isEqualTo(before.origin().modelId());
    }
  }

  /** Topics of the log that are gone: the planner makes them again, and goes on where it was. */
  @Test
  void lost_topics_are_made_again_and_generations_go_on() throws Exception {
    String prefix = SharedCluster.freshPrefix();
    try (LogClient client = client(prefix);
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      try (PlannerService service = planner(prefix, List.of(TestModels.bundle()))) {
        assertThat(service).isNotNull();
        for (WorkloadChange event : life()) {
          client.publish(event);
        }
        assertThat(last(client.plans(4)).generation()).isEqualTo(5);
      }
      List<String> lost =
          List.of(
                  client.topics().of(WORKLOAD_CHANGES),
                  client.topics().of(SHARDING_PLANS),
                  client.topics().of(CURRENT_PLANS),
                  client.topics().of(COST_MODELS))
              .stream()
              .map(Topic::name)
              .toList();
      admin.deleteTopics(lost).all().get();
      await()
          .atMost(PATIENCE)
          .until(() -> admin.listTopics().names().get().stream().noneMatch(lost::contains));
      try (PlannerService service = planner(prefix, List.of(TestModels.bundle()))) {
        assertThat(service).isNotNull();
        try (LogClient later = client(prefix)) {
          later.publish(Fixtures.numbered(5, Fixtures.upsert("d", 1_000, 16, 1)));
          assertThat(later.plans(1))
              .singleElement()
              .satisfies(
                  plan -> {
                    assertThat(plan.generation()).isEqualTo(6);
                    assertThat(columns(plan)).containsOnlyKeys("a", "c", "d");
                  });
          assertThat(later.read(later.topics().of(CURRENT_PLANS), 1)).hasSize(1);
          assertThat(later.read(later.topics().of(COST_MODELS), 1)).hasSize(1);
        }
      }
    }
  }
}
