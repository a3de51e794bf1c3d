package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.SecureKafka;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What somebody deleted, reset or mixed up on the cluster: docs/RUNBOOK.md. */
class StateCheckIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir private static Path data;
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;

  private final String prefix = SharedCluster.freshPrefix();
  private ServiceSettings settings;

  @BeforeAll
  static void start() throws Exception {
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
  }

  @BeforeEach
  void settings() {
    settings =
        TestSettings.of(kafka.bootstrapServers(), registry.url(), prefix, data.resolve(prefix))
            .build();
  }

  private PlannerService planner() throws Exception {
    return PlannerService.start(
        new PlannerParts(settings, List.of(TestModels.bundle()), PlainTowers::new));
  }

  private PlannerService planner(ServiceHealth health) throws Exception {
    return PlannerService.start(
        new PlannerParts(settings, List.of(TestModels.bundle()), PlainTowers::new)
            .with()
            .health(health)
            .build());
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

  /** As an upgrade to the first version with a store finds it. */
  @Test
  void the_changelog_of_a_new_store_is_created_with_the_command_of_the_message() throws Exception {
    try (LogClient client = client();
        Admin admin = admin()) {
      planTwo(client);
      delete(admin, StoreName.APPLIED_EVENTS.changelog(prefix));
      PlanningGuarantees.delete(data.resolve(prefix));
      String message =
          catchThrowableOfType(IllegalStateException.class, this::planner).getMessage();
      SecureKafka.run(message.substring(message.indexOf("kafka-topics.sh")));
      try (PlannerService service = planner()) {
        assertThat(service).isNotNull();
        client.publish(Fixtures.numbered(2, Fixtures.upsert("c", 1_000, 64, 2)));
        assertThat(client.plans(3))
            .extracting(ShardingPlan::generation)
            .containsExactly(1L, 2L, 3L);
      }
    }
  }

  /**
   * Kafka Streams would create the changelog again and then delete the stores, and the workload
   * would begin with generation 1.
   */
  @Test
  void a_changelog_that_is_deleted_while_a_planner_runs_stays_deleted() throws Exception {
    String changelog = StoreName.WORKLOAD_HEADERS.changelog(prefix);
    settings =
        TestSettings.of(kafka.bootstrapServers(), registry.url(), prefix, data.resolve(prefix))
            // By default a thread waits two minutes for the changelog before it fails.
            .kafka(
                Map.of(
                    "producer.request.timeout.ms", "2000", "producer.delivery.timeout.ms", "4000"))
            .build();
    try (LogClient client = client();
        Admin admin = admin();
        ServiceHealth health = ServiceHealth.watch(settings);
        PlannerService service = planner(health)) {
      assertThat(service).isNotNull();
      client.publish(
          Fixtures.numbered(0, Fixtures.set(4, Fixtures.GIB), Fixtures.upsert("a", 1_000, 64, 2)));
      client.plans(1);
      awaitProbe(admin, health);
      delete(admin, changelog);
      client.publish(Fixtures.numbered(1, Fixtures.upsert("b", 1_000, 64, 2)));
      await()
          .atMost(PATIENCE)
          .dontCatchUncaughtExceptions()
          .untilAsserted(
              () ->
                  assertThat(health.parts().get(4).problem().orElse(""))
                      .contains("The changelog " + changelog + " does not exist")
                      .contains("RUNBOOK.md, A changelog was deleted"));
      assertThat(problem(health).orElse(""))
          .startsWith("Somebody deleted " + changelog)
          .contains("RUNBOOK.md, A changelog was deleted");
      assertThat(admin.listTopics().names().get()).doesNotContain(changelog);
      assertThat(client.committed(client.topics().of(SHARDING_PLANS)))
          .extracting(ShardingPlan::generation)
          .containsExactly(1L);
    }
  }

  @Test
  void a_state_directory_of_other_topics_is_not_used() throws Exception {
    try (LogClient client = client();
        Admin admin = admin()) {
      planTwo(client);
      settings =
          TestSettings.of(
                  kafka.bootstrapServers(), registry.url(), "mistaken.", data.resolve(prefix))
              .build();
      assertThatThrownBy(this::planner)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("is of topics.prefix=" + prefix)
          .hasMessageContaining("the settings say topics.prefix=mistaken.")
          .hasMessageContaining("set another state.directory");
      assertThat(admin.listTopics().names().get())
          .as("topics of the mistaken prefix")
          .noneMatch(topic -> topic.startsWith("mistaken."));
    }
  }

  @Test
  void a_start_that_is_refused_claims_no_state_directory() throws Exception {
    planner().close();
    Path elsewhere = data.resolve(prefix + "elsewhere");
    settings =
        TestSettings.of(kafka.bootstrapServers(), registry.url(), prefix, elsewhere)
            .partitions(3)
            .build();
    assertThatThrownBy(this::planner).isInstanceOf(TopicMismatchException.class);
    assertThat(elsewhere.resolve(StateCheck.CLUSTER_FILE)).doesNotExist();
  }

  @Test
  void a_state_directory_of_another_cluster_is_not_used() throws Exception {
    Path file = data.resolve(prefix).resolve(StateCheck.CLUSTER_FILE);
    try (LogClient client = client()) {
      planTwo(client);
    }
    assertThat(file).exists();
    Files.write(file, List.of("staging", prefix));
    assertThatThrownBy(this::planner)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("is of the Kafka cluster staging")
        .hasMessageContaining("set another state.directory");
  }

  @Test
  void a_second_planner_on_a_state_directory_is_told_so() throws Exception {
    try (PlannerService first = planner()) {
      assertThat(first).isNotNull();
      assertThatThrownBy(this::planner)
          .isInstanceOf(IllegalStateException.class)
          .hasMessage(
              "Another planner uses state.directory=%s. Stop it, or give each planner on this machine a state.directory and an http.port of its own."
                  .formatted(data.resolve(prefix)));
    }
  }

  /** The second of the topologies cannot be built: the first one gives its directory back. */
  @Test
  void a_start_that_fails_leaves_nothing_running() throws Exception {
    planner().close();
    Path planning = data.resolve(prefix).resolve(prefix + "planning");
    try (FileChannel held = FileChannel.open(planning.resolve(".lock"), StandardOpenOption.WRITE)) {
      assertThat(held.lock().isValid()).isTrue();
      assertThatThrownBy(this::planner).hasMessageStartingWith("Another planner uses");
    }
    planner().close();
  }

  @Test
  void health_names_a_topic_that_was_deleted() throws Exception {
    try (LogClient client = client();
        Admin admin = admin();
        ServiceHealth health = ServiceHealth.watch(settings)) {
      try (PlannerService service = planner(health)) {
        client.publish(
            Fixtures.numbered(
                0, Fixtures.set(4, Fixtures.GIB), Fixtures.upsert("a", 1_000, 64, 2)));
        client.plans(1);
        await().atMost(PATIENCE).until(service::isRunning);
        awaitProbe(admin, health);
        delete(admin, client.topics().of(WORKLOAD_CHANGES).name());
        await()
            .atMost(PATIENCE)
            .untilAsserted(
                () ->
                    assertThat(problem(health).orElse(""))
                        .startsWith(
                            "Somebody deleted " + client.topics().of(WORKLOAD_CHANGES).name())
                        .contains("RUNBOOK.md"));
      }
    }
  }

  /** Waits until a probe has found all topics: one that was never there is not missed. */
  private void awaitProbe(Admin admin, ServiceHealth health) throws Exception {
    List<String> names =
        admin.listTopics().names().get().stream().filter(name -> name.startsWith(prefix)).toList();
    int partitions =
        admin.describeTopics(names).allTopicNames().get().values().stream()
            .mapToInt(topic -> topic.partitions().size())
            .sum();
    await().atMost(PATIENCE).until(() -> health.topicState.partitions() >= partitions);
    assertThat(problem(health)).isEmpty();
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
      reset(admin, "workload", client.topics().of(WORKLOAD_CHANGES).name(), 0);
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
      reset(admin, "planning", client.topics().of(COST_PREDICTIONS).name(), 0);
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
      String changes = client.topics().of(WORKLOAD_CHANGES).name();
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
