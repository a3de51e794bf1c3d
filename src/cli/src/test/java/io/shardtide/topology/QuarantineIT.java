package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.QUARANTINE;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.RunningService;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.workload.Change;
import io.shardtide.workload.Quarantine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * Workloads that fail before and after their first write, on a broker, beside one that does not.
 */
class QuarantineIT {
  private static final Duration PATIENCE = Duration.ofSeconds(90);

  /** Fails before its first write; after it; on its plan, after a write. */
  private static final Map<String, String> BAD =
      Map.of("before", "record", "after", "record", "unplanned", "planning");

  private static final String GOOD = "good";

  @TempDir private Path data;
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private EmbeddedKafka kafka;
  private DevelopmentRegistry registry;
  private LogClient client;
  private ServiceSettings settings;

  @BeforeEach
  void start() throws Exception {
    ((Logger) LoggerFactory.getLogger("io.shardtide")).addAppender(logged);
    logged.start();
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
    String prefix = SharedCluster.freshPrefix();
    client = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
    settings =
        TestSettings.of(kafka.bootstrapServers(), registry.url(), prefix, data.resolve("state"))
            .build();
  }

  @AfterEach
  void stop() throws Exception {
    client.close();
    ((Logger) LoggerFactory.getLogger("io.shardtide")).detachAppender(logged);
  }

  private PlannerService service(PlannerMetrics metrics, ServiceHealth health, Faults faults)
      throws Exception {
    return faults.start(
        new PlannerParts(settings, List.of(TestModels.bundle()), TensorFlowTowers::new)
            .with()
            .metrics(metrics)
            .health(health)
            .build());
  }

  private void publish(String workload, Change... changes) throws Exception {
    client.publish(Fixtures.eventOf(workload, changes));
  }

  private Set<String> planned() {
    return client.committed(client.topics().of(SHARDING_PLANS)).stream()
        .map(ShardingPlan::workloadId)
        .collect(Collectors.toSet());
  }

  private List<Quarantine> quarantines() {
    return client.committed(client.topics().of(QUARANTINE));
  }

  /** Throws an error of the virtual machine, each time. */
  private static final class Broken implements Faults {
    private static final ThreadLocal<String> KEY = ThreadLocal.withInitial(() -> "");

    @Override
    public void attempt(String newKey, String work) {
      KEY.set(work.startsWith(BAD.getOrDefault(newKey, "none")) ? newKey : "");
      if (KEY.get().equals("before")) {
        throw new StackOverflowError("injected");
      }
    }

    @Override
    public void write() {
      if (BAD.containsKey(KEY.get())) {
        throw new StackOverflowError("injected");
      }
    }
  }

  @Test
  void workloads_that_fail_wait_and_the_others_of_their_partition_go_on() throws Exception {
    PlannerMetrics metrics = new PlannerMetrics(meters);
    ServiceHealth health = ServiceHealth.watch(settings);
    try (PlannerService service = service(metrics, health, new Broken())) {
      assertThat(service).isNotNull();
      for (String workload : List.of("before", "after", "unplanned", GOOD)) {
        publish(workload, set(2, 8 * Fixtures.GIB), upsert("a", 100_000, 64, 5));
        publish(workload, upsert("b", 100_000, 64, 5));
      }
      await().atMost(PATIENCE).until(() -> planned().contains(GOOD));
      await()
          .atMost(PATIENCE)
          .until(
              () ->
                  quarantines().stream()
                      .map(Quarantine::key)
                      .collect(Collectors.toSet())
                      .equals(BAD.keySet()));
      assertThat(quarantines()).allMatch(Quarantine::entered);
      for (Quarantine held : quarantines()) {
        boolean isPlanning = held.key().equals("unplanned");
        assertThat(held.topology()).isEqualTo(isPlanning ? "planning" : "workload");
        assertThat(held.error()).contains("StackOverflowError: injected");
        assertThat(held.aborted()).isEqualTo(!held.key().equals("before"));
        assertThat(held.source().isEmpty()).isEqualTo(isPlanning);
        assertThat(List.copyOf(logged.list))
            .anyMatch(
                line ->
                    line.getFormattedMessage()
                        .startsWith("\"%s\" is in the quarantine of the ".formatted(held.key())));
      }
      assertThat(health.quarantined())
          .extracting(Quarantine::key)
          .containsExactlyInAnyOrder("before", "after", "unplanned");
      assertThat(
              meters.get("shardtide.quarantine.keys").tag("topology", "workload").gauge().value())
          .isEqualTo(2);
      assertThat(ClusterChecks.run(settings))
          .anyMatch(
              check ->
                  check.check().equals("quarantine")
                      && check.status() == CheckResult.CheckStatus.WARNING
                      && check.finding().contains("\"unplanned\" of the planning topology"));
      publish(GOOD, upsert("c", 100_000, 64, 5));
      await()
          .atMost(PATIENCE)
          .until(() -> client.plansOf(GOOD).stream().anyMatch(plan -> plan.generation() == 3));
      assertThat(planned()).containsExactly(GOOD);
    } finally {
      health.close();
    }
    // A restart tries again, and what waited is applied in order.
    try (PlannerService service =
        service(PlannerMetrics.unread(), ServiceHealth.unwatched(settings), new Faults() {})) {
      assertThat(service).isNotNull();
      for (String workload : BAD.keySet()) {
        await()
            .atMost(PATIENCE)
            .until(
                () -> client.plansOf(workload).stream().anyMatch(plan -> plan.generation() == 2));
      }
      Map<String, Quarantine> latest = new HashMap<>();
      quarantines().forEach(held -> latest.put(held.key(), held));
      assertThat(latest).containsOnlyKeys(BAD.keySet());
      assertThat(latest.values()).noneMatch(Quarantine::entered);
      assertThat(client.committed(client.topics().of(REJECTED_EVENTS))).isEmpty();
    }
    assertThat(
            RunningService.replay(
                data,
                System.getProperty("java.class.path"),
                kafka.bootstrapServers(),
                registry.url(),
                client.topics().prefix(),
                data.resolve("replayed.jsonl")))
        .as("plans are recomputed from the log")
        .isZero();
  }

  /** The changelogs of the new store are created once, although the groups have offsets. */
  @Test
  void a_cluster_of_an_earlier_version_gets_a_quarantine() throws Exception {
    try (PlannerService service =
        service(PlannerMetrics.unread(), ServiceHealth.unwatched(settings), new Faults() {})) {
      assertThat(service).isNotNull();
      publish(GOOD, set(2, 8 * Fixtures.GIB), upsert("a", 100_000, 64, 5));
      await().atMost(PATIENCE).until(() -> planned().contains(GOOD));
    }
    String quarantine = client.topics().of(QUARANTINE).name();
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      List<String> added =
          admin.listTopics().names().get().stream()
              .filter(name -> name.startsWith(client.topics().prefix()))
              .filter(name -> name.equals(quarantine) || name.endsWith("-quarantine-changelog"))
              .toList();
      assertThat(added).hasSize(3);
      admin.deleteTopics(added).all().get();
      await()
          .atMost(PATIENCE)
          .until(() -> admin.listTopics().names().get().stream().noneMatch(added::contains));
      assertThat(ClusterChecks.run(settings))
          .as("doctor before the upgrade")
          .anyMatch(
              check ->
                  check.check().equals("state") && check.status() == CheckResult.CheckStatus.OK);
      try (PlannerService service =
          service(PlannerMetrics.unread(), ServiceHealth.unwatched(settings), new Faults() {})) {
        assertThat(service).isNotNull();
        publish(GOOD, upsert("b", 100_000, 64, 5));
        await()
            .atMost(PATIENCE)
            .until(() -> client.plansOf(GOOD).stream().anyMatch(plan -> plan.generation() == 2));
        assertThat(admin.listTopics().names().get()).containsAll(added);
      }
      // From now on, a changelog that is missing was deleted.
      admin
          .deleteTopics(added.stream().filter(name -> !name.equals(quarantine)).toList())
          .all()
          .get();
      await()
          .atMost(PATIENCE)
          .until(
              () -> admin.listTopics().names().get().stream().filter(added::contains).count() == 1);
      assertThat(ClusterChecks.run(settings))
          .anyMatch(
              check ->
                  check.check().equals("state")
                      && check.status() == CheckResult.CheckStatus.FAILED
                      && check.finding().contains("-quarantine-changelog does not exist"));
    }
  }

  /** Kafka Streams' own advice would delete the state. */
  @Test
  void health_says_what_to_do_when_partitions_are_added() throws Exception {
    ServiceHealth health = ServiceHealth.watch(settings);
    try (PlannerService service = service(PlannerMetrics.unread(), health, new Faults() {});
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      assertThat(service).isNotNull();
      publish(GOOD, set(2, 8 * Fixtures.GIB), upsert("a", 100_000, 64, 5));
      await().atMost(PATIENCE).until(() -> planned().contains(GOOD));
      String topic = client.topics().of(WORKLOAD_CHANGES).name();
      admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(health.parts().get(0).problem().orElse(""))
                      .contains(topic + " has 3 partitions, expected 1")
                      .contains("docs/RUNBOOK.md, Partitions were added")
                      .contains("do not run StreamsResetter"));
    } finally {
      health.close();
    }
  }
}
