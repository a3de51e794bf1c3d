package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What somebody deleted, reset or mixed up on the cluster: rows of docs/FAILURE-MODES.md. */
class StateCheckIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir private static Path data;
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;

  private final String prefix = PlanningGuarantees.freshPrefix();
  private ServiceSettings settings;

  @BeforeAll
  static void start() throws Exception {
    kafka = EmbeddedKafka.start(data.resolve("kafka"));
    registry = DevelopmentRegistry.start(0, Optional.empty());
  }

  @AfterAll
  static void stop() throws Exception {
    registry.close();
    kafka.close();
  }

  @BeforeEach
  void settings() {
    settings =
        TestSettings.of(kafka.bootstrapServers(), registry.url(), prefix, data.resolve(prefix))
            .build();
  }

  private PlannerService planner() throws Exception {
    return PlannerService.start(settings, List.of(Fixtures.bundle()), PlainTowers::new);
  }

  private static Admin admin() {
    return Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()));
  }

  private LogClient client() {
    return new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
  }

  /** Lets a planner plan two generations, and closes it. */
  private void planTwo(LogClient client) throws Exception {
    try (PlannerService service = planner()) {
      assertThat(service).isNotNull();
      client.publish(
          Fixtures.numbered(0, Fixtures.set(4, Fixtures.GIB), Fixtures.upsert("a", 1_000, 64, 2)));
      client.publish(Fixtures.numbered(1, Fixtures.upsert("b", 1_000, 64, 2)));
      client.plans(2);
      client.awaitIdle();
    }
  }

  private static void delete(Admin admin, String topic) throws Exception {
    admin.deleteTopics(List.of(topic)).all().get();
    await().atMost(PATIENCE).until(() -> !admin.listTopics().names().get().contains(topic));
  }

  @Test
  void without_a_changelog_no_planner_starts() throws Exception {
    try (LogClient client = client();
        Admin admin = admin()) {
      planTwo(client);
      delete(admin, StoreName.WORKLOAD_TABLES.changelog(prefix));
    }
    assertThatThrownBy(this::planner)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining(StoreName.WORKLOAD_TABLES.changelog(prefix) + " does not exist")
        .hasMessageContaining(prefix + "workload has committed offsets")
        .hasMessageContaining("RUNBOOK.md");
  }

  @Test
  void a_state_directory_of_another_cluster_is_not_used() throws Exception {
    Path file = data.resolve(prefix).resolve(StateCheck.CLUSTER_FILE);
    try (LogClient client = client()) {
      planTwo(client);
    }
    assertThat(file).exists();
    Files.writeString(file, "staging");
    assertThatThrownBy(this::planner)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("is of the Kafka cluster staging")
        .hasMessageContaining("set another state.directory");
  }

  @Test
  void health_names_a_topic_that_was_deleted() throws Exception {
    try (LogClient client = client();
        Admin admin = admin();
        ServiceHealth health = ServiceHealth.watch(settings)) {
      try (PlannerService service =
          PlannerService.start(
              settings,
              List.of(Fixtures.bundle()),
              PlainTowers::new,
              Optional.empty(),
              PlannerMetrics.unread(),
              health)) {
        client.publish(
            Fixtures.numbered(
                0, Fixtures.set(4, Fixtures.GIB), Fixtures.upsert("a", 1_000, 64, 2)));
        client.plans(1);
        await().atMost(PATIENCE).until(service::isRunning);
        await().atMost(PATIENCE).until(() -> problem(health).isEmpty());
        // Until each topic was seen by a probe.
        Thread.sleep(5_000);
        delete(admin, client.topics().workloadChanges().name());
        await()
            .atMost(PATIENCE)
            .untilAsserted(
                () ->
                    assertThat(problem(health).orElse(""))
                        .startsWith("Somebody deleted " + client.topics().workloadChanges().name())
                        .contains("RUNBOOK.md"));
      }
    }
  }

  private static Optional<String> problem(ServiceHealth health) {
    return health.parts().get(0).problem();
  }

  private void reset(Admin admin, String topology, String topic, long offset) throws Exception {
    admin
        .alterConsumerGroupOffsets(
            prefix + topology, Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(offset)))
        .all()
        .get();
  }

  @Test
  void events_that_are_read_again_are_not_applied_twice() throws Exception {
    try (LogClient client = client();
        Admin admin = admin()) {
      planTwo(client);
      reset(admin, "workload", client.topics().workloadChanges().name(), 0);
      try (PlannerService service = planner()) {
        assertThat(service).isNotNull();
        client.publish(Fixtures.numbered(2, Fixtures.upsert("c", 1_000, 64, 2)));
        assertThat(client.plans(3))
            .extracting(ShardingPlan::generation)
            .containsExactly(1L, 2L, 3L);
        assertThat(client.rejected(2))
            .extracting(RejectedEvent::reason)
            .containsOnly(RejectionReason.DUPLICATE_EVENT);
      }
    }
  }

  /** Old generations are planned again, and the last plan is that of the last generation. */
  @Test
  void predictions_that_are_read_again_are_planned_again() throws Exception {
    try (LogClient client = client();
        Admin admin = admin()) {
      planTwo(client);
      reset(admin, "planning", client.topics().costPredictions().name(), 0);
      try (PlannerService service = planner()) {
        assertThat(service).isNotNull();
        client.publish(Fixtures.numbered(2, Fixtures.upsert("c", 1_000, 64, 2)));
        assertThat(client.plans(5))
            .extracting(ShardingPlan::generation)
            .containsExactly(1L, 2L, 1L, 2L, 3L);
        assertThat(client.plans(5).get(4).reason()).isEqualTo("1 table added (c)");
      }
    }
  }

  @Test
  void events_that_a_reset_skipped_are_applied_when_they_are_published_again() throws Exception {
    try (LogClient client = client();
        Admin admin = admin()) {
      planTwo(client);
      client.publish(Fixtures.numbered(2, Fixtures.upsert("c", 1_000, 64, 2)));
      String changes = client.topics().workloadChanges().name();
      TopicPartition partition = new TopicPartition(changes, 0);
      long end =
          admin
              .listOffsets(Map.of(partition, OffsetSpec.latest()))
              .all()
              .get()
              .get(partition)
              .offset();
      reset(admin, "workload", changes, end);
      try (PlannerService service = planner()) {
        assertThat(service).isNotNull();
        for (int i = 1; i <= 2; i++) {
          client.publish(Fixtures.numbered(i, Fixtures.upsert(i == 1 ? "b" : "c", 1_000, 64, 2)));
        }
        assertThat(client.plans(3).get(2).reason()).isEqualTo("1 table added (c)");
        assertThat(client.rejected(1))
            .extracting(RejectedEvent::reason)
            .containsExactly(RejectionReason.DUPLICATE_EVENT);
      }
    }
  }
}
