package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.config.SettingsFile;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.SecureKafka;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A broker whose limits are not Kafka's defaults. */
class BrokerLimitsIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Map<String, String> LIMITS =
      Map.of(
          "group.min.session.timeout.ms",
          "10000",
          "transaction.max.timeout.ms",
          "20000",
          "socket.request.max.bytes",
          "30000000",
          "log.message.timestamp.before.max.ms",
          "5000",
          "log.message.timestamp.after.max.ms",
          "1000",
          "offsets.retention.minutes",
          "1",
          "offsets.retention.check.interval.ms",
          "5000");

  /** Settings of a planner that the broker allows. */
  private static final Map<String, String> WITHIN =
      Map.of(
          "main.consumer.session.timeout.ms",
          "10000",
          "transaction.timeout.ms",
          "20000",
          "producer.max.request.size",
          "30000000");

  @TempDir private static Path data;
  private static EmbeddedKafka kafka;
  private static Admin admin;

  private final String prefix = SharedCluster.freshPrefix();

  @BeforeAll
  static void start() throws Exception {
    kafka = EmbeddedKafka.start(data.resolve("kafka"), 0, LIMITS);
    admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()));
  }

  @AfterAll
  static void stop() {
    admin.close();
    kafka.close();
  }

  private ServiceSettings settings(Map<String, String> kafkaSettings) {
    return TestSettings.of(
            kafka.bootstrapServers(), SharedCluster.registry().url(), prefix, data.resolve(prefix))
        .kafka(kafkaSettings)
        .build();
  }

  /** Returns what an operator's file has who sets nothing of Kafka. */
  private ServiceSettings defaults() throws Exception {
    return settings(kafka.bootstrapServers(), "");
  }

  private ServiceSettings settings(String bootstrapServers, String more) throws Exception {
    return SettingsFile.read(
        Files.writeString(
            data.resolve(prefix + "properties"),
            """
            bootstrap.servers=%s
            schema.registry.url=%s
            state.directory=%s
            topics.prefix=%s
            topics.replication=1
            %s
            """
                .formatted(
                    bootstrapServers,
                    SharedCluster.registry().url(),
                    data.resolve(prefix),
                    prefix,
                    more)),
        warning -> {},
        (key, value) -> {});
  }

  private static PlannerService planner(ServiceSettings settings, ServiceHealth health)
      throws Exception {
    return PlannerService.start(
        new PlannerParts(settings, List.of(TestModels.bundle()), PlainTowers::new)
            .with()
            .health(health)
            .build());
  }

  private static PlannerService planner(ServiceSettings settings) throws Exception {
    return planner(settings, ServiceHealth.unwatched(settings));
  }

  private LogClient client() {
    return new LogClient(kafka.bootstrapServers(), SharedCluster.registry().url(), prefix);
  }

  private static CheckResult check(ServiceSettings settings, String name) throws Exception {
    return ClusterChecks.run(settings).stream()
        .filter(result -> result.check().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static void alter(ConfigResource.Type type, String name, String setting, String value)
      throws Exception {
    admin
        .incrementalAlterConfigs(
            Map.of(
                new ConfigResource(type, name),
                List.of(
                    new AlterConfigOp(new ConfigEntry(setting, value), AlterConfigOp.OpType.SET))))
        .all()
        .get();
  }

  private static void awaitProblem(ServiceHealth health, String problem) {
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> assertThat(health.parts().get(0).problem().orElse("")).contains(problem));
  }

  @Test
  void a_start_doctor_and_health_name_the_limits_and_our_settings() throws Exception {
    ServiceSettings settings = defaults();
    TopicMismatchException refused =
        catchThrowableOfType(TopicMismatchException.class, () -> planner(settings));
    assertThat(refused.differences())
        .filteredOn(TopicDifference::refused)
        .extracting(TopicDifference::setting, TopicDifference::found, TopicDifference::wanted)
        .containsExactly(
            tuple(
                "group.min.session.timeout.ms", "10000", "at most 6000 (kafka.session.timeout.ms)"),
            tuple(
                "socket.request.max.bytes",
                "30000000",
                "at least 33554432 (kafka.max.request.size)"),
            tuple(
                "transaction.max.timeout.ms",
                "20000",
                "at least 60000 (kafka.transaction.timeout.ms)"));
    assertThat(refused)
        .hasMessageContaining("nothing was started")
        .hasMessageContaining(
            "on the brokers: group.min.session.timeout.ms=6000 (needs their restart); or in the settings file: kafka.session.timeout.ms=10000");
    assertThat(admin.listTopics().names().get()).noneMatch(name -> name.startsWith(prefix));
    CheckResult limits = check(settings, "limits");
    assertThat(limits.status()).isEqualTo(CheckResult.CheckStatus.FAILED);
    assertThat(limits.remedy().orElseThrow()).contains("kafka.transaction.timeout.ms=20000");
    try (ServiceHealth health = ServiceHealth.watch(settings)) {
      awaitProblem(health, "group.min.session.timeout.ms of (brokers) is 10000");
    }
  }

  /** Its rights are those of {@link Acls}, without any on the cluster. */
  @Test
  void a_planner_that_may_not_ask_for_limits_says_so_and_explains_what_they_refuse()
      throws Exception {
    try (SecureKafka secure =
        SecureKafka.start(
            data.resolve("secure"),
            Map.of(
                "group.min.session.timeout.ms", "10000", "transaction.max.timeout.ms", "60000"))) {
      secure.users("planner");
      secure.allow("planner", Acls.of(Acls.Role.PLANNER, prefix, Set.of()));
      ServiceSettings settings = settings(secure.bootstrapServers(), secure.plannerSettings());
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () -> {
                CheckResult limits = check(settings, "limits");
                assertThat(limits.status()).isEqualTo(CheckResult.CheckStatus.SKIPPED);
                assertThat(limits.finding()).endsWith("needs DescribeConfigs on the cluster");
              });
      try (ServiceHealth health = ServiceHealth.watch(settings);
          PlannerService service = planner(settings, health)) {
        assertThat(service).isNotNull();
        await()
            .atMost(PATIENCE)
            .untilAsserted(
                () ->
                    assertThat(health.parts().get(4).problem().orElse(""))
                        .endsWith(
                            "kafka.session.timeout.ms is 6000; set it to what the brokers allow (group.min.session.timeout.ms to group.max.session.timeout.ms), or raise their limit"));
      }
    }
  }

  /** A new topic would have the brokers' least number of copies, which one copy never reaches. */
  @Test
  void too_many_copies_in_sync_are_refused_before_topics_are_created() throws Exception {
    alter(ConfigResource.Type.BROKER, "", "min.insync.replicas", "2");
    try {
      ServiceSettings settings = settings(WITHIN);
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(check(settings, "limits").finding())
                      .contains("is 2, should be at most 1 (topics.replication)"));
    } finally {
      alter(ConfigResource.Type.BROKER, "", "min.insync.replicas", "1");
    }
  }

  /** What is shorter than a day is only announced: planners run. */
  @Test
  void a_short_retention_of_offsets_is_a_warning() throws Exception {
    CheckResult limits = check(settings(WITHIN), "limits");
    assertThat(limits.status()).isEqualTo(CheckResult.CheckStatus.WARNING);
    assertThat(limits.finding())
        .contains("offsets.retention.minutes of (brokers) is 1, should be at least 1440");
  }

  @Test
  void events_older_than_the_cluster_takes_are_planned() throws Exception {
    ServiceSettings settings = settings(WITHIN);
    Instant old = Instant.now().minus(Duration.ofDays(30));
    try (ServiceHealth health = ServiceHealth.watch(settings);
        PlannerService service = planner(settings, health);
        LogClient client = client()) {
      client.publishAt(
          old,
          Fixtures.numbered(0, Fixtures.set(4, Fixtures.GIB), Fixtures.upsert("a", 1_000, 64, 2)));
      client.plans(1);
      await().atMost(PATIENCE).until(service::isRunning);
      // As topics are that somebody else created, on a cluster that takes an hour.
      String before = "message.timestamp.before.max.ms";
      List<String> outputs =
          new ArrayList<>(
              List.of(
                  client.topics().of(COST_PREDICTIONS).name(),
                  client.topics().of(CURRENT_PREDICTIONS).name(),
                  client.topics().of(SHARDING_PLANS).name(),
                  client.topics().of(CURRENT_PLANS).name()));
      for (TopologyName topology : List.of(TopologyName.WORKLOAD, TopologyName.PLANNING)) {
        StoreName.of(topology).forEach(store -> outputs.add(store.changelog(prefix)));
      }
      for (String output : outputs) {
        alter(ConfigResource.Type.TOPIC, output, before, "3600000");
      }
      client.publishAt(old, Fixtures.numbered(1, Fixtures.upsert("b", 1_000, 64, 2)));
      assertThat(client.plans(2)).extracting(ShardingPlan::generation).containsExactly(1L, 2L);
      assertThat(health.parts().subList(0, 6)).allMatch(part -> part.problem().isEmpty());
    }
    String changelog = StoreName.WORKLOAD_TABLES.changelog(prefix);
    alter(ConfigResource.Type.TOPIC, changelog, "message.timestamp.before.max.ms", "3599999");
    String remedy =
        "--entity-name %s --add-config message.timestamp.before.max.ms=3600000"
            .formatted(changelog);
    try (ServiceHealth health = ServiceHealth.watch(settings)) {
      awaitProblem(health, remedy);
    }
    assertThat(check(settings, "topics").remedy().orElse("")).contains(remedy);
    assertThat(catchThrowableOfType(TopicMismatchException.class, () -> planner(settings)))
        .hasMessageContaining(remedy);
  }

  /** The planner stops for longer than the broker keeps the offsets of a group. */
  @Test
  void offsets_that_expired_are_named_and_set_again_with_the_commands() throws Exception {
    ServiceSettings settings = settings(WITHIN);
    Instant old = Instant.now().minus(Duration.ofDays(2));
    try (LogClient client = client()) {
      try (PlannerService service = planner(settings)) {
        assertThat(service).isNotNull();
        client.publishAt(
            old,
            Fixtures.numbered(
                0, Fixtures.set(4, Fixtures.GIB), Fixtures.upsert("a", 1_000, 64, 2)));
        client.publishAt(old, Fixtures.numbered(1, Fixtures.upsert("b", 1_000, 64, 2)));
        client.plans(2);
        client.awaitIdle();
      }
      for (String group : List.of(prefix + "workload", prefix + "planning")) {
        await()
            .atMost(Duration.ofMinutes(3))
            .pollInterval(Duration.ofSeconds(2))
            .until(() -> hasNoOffsets(group));
      }
      client.publish(Fixtures.numbered(2, Fixtures.upsert("c", 1_000, 64, 2)));
      String message =
          catchThrowableOfType(IllegalStateException.class, () -> planner(settings)).getMessage();
      assertThat(message)
          .startsWith(
              "Committed offsets are gone of %sworkload, %splanning, whose changelogs have state"
                  .formatted(prefix, prefix));
      CheckResult state = check(settings, "state");
      assertThat(state.status()).isEqualTo(CheckResult.CheckStatus.FAILED);
      assertThat(state.remedy().orElseThrow()).contains("--reset-offsets --to-datetime");
      message.lines().skip(1).map(String::strip).forEach(SecureKafka::run);
      assertThat(check(settings, "state").status()).isEqualTo(CheckResult.CheckStatus.OK);
      try (PlannerService service = planner(settings)) {
        assertThat(service).isNotNull();
        await()
            .atMost(PATIENCE)
            .untilAsserted(
                () ->
                    assertThat(client.committed(client.topics().of(SHARDING_PLANS)))
                        .last()
                        .extracting(ShardingPlan::reason)
                        .isEqualTo("1 table added (c)"));
        assertThat(client.committed(client.topics().of(REJECTED_EVENTS)))
            .as("events that were read again")
            .isEmpty();
      }
    }
  }

  private static boolean hasNoOffsets(String group) {
    try {
      return admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().isEmpty();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    } catch (ExecutionException e) {
      return e.getCause() instanceof GroupIdNotFoundException;
    }
  }
}
