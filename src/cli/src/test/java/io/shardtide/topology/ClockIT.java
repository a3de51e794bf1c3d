package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.cli.Shardtide;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.embedded.JavaProcess;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlannerProgram;
import io.shardtide.testing.SharedCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberDescription;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Planners whose machine's clock is set, with Debian's libfaketime: the process sees another time
 * of day, while what has passed is as it is. Skipped where there is no libfaketime.
 */
@Tag("nightly")
class ClockIT {
  private static final Path FAKETIME =
      Path.of("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1");

  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;

  @TempDir private Path folder;
  private final String prefix = SharedCluster.freshPrefix();
  private LogClient client;

  @BeforeAll
  static void start() throws Exception {
    assumeThat(FAKETIME).as("Debian's libfaketime").exists();
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
  }

  @AfterAll
  static void stop() throws Exception {
    if (kafka != null) {}
  }

  @BeforeEach
  void connect() {
    client = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
  }

  @AfterEach
  void disconnect() throws Exception {
    client.close();
  }

  /** Sets the clock of a process as far from the machine's as a file says, in seconds. */
  private static Map<String, String> clock(Path offset) {
    return Map.of(
        "LD_PRELOAD",
        FAKETIME.toString(),
        "FAKETIME_TIMESTAMP_FILE",
        offset.toString(),
        "FAKETIME_CACHE_DURATION",
        "1",
        "FAKETIME_DONT_FAKE_MONOTONIC",
        "1",
        // Where it is on, each timed wait of Java ends at once, and threads spin.
        "FAKETIME_FORCE_MONOTONIC_FIX",
        "0");
  }

  private JavaProcess planner(Path offset) throws Exception {
    return PlannerProgram.start(
        folder,
        clock(offset),
        List.of(
            kafka.bootstrapServers(),
            registry.url(),
            prefix,
            "1",
            folder.resolve("state").toString(),
            "BURSTS"));
  }

  private static void setClock(Path offset, String seconds) throws Exception {
    Files.writeString(offset, seconds);
    // libfaketime reads the file every second.
    Thread.sleep(2_000);
  }

  /** Waits until a generation is planned; returns the first plan that answers it. */
  private ShardingPlan plan(JavaProcess planner, long generation) throws Exception {
    long end = System.nanoTime() + Duration.ofMinutes(2).toNanos();
    while (true) {
      for (ShardingPlan plan : client.committed(client.topics().of(SHARDING_PLANS))) {
        if (plan.generation() == generation) {
          return plan;
        }
      }
      assertThat(System.nanoTime()).as(planner.output()).isLessThan(end);
      Thread.sleep(100);
    }
  }

  @Test
  void planning_continues_after_the_clock_is_set() throws Exception {
    Path offset = Files.writeString(folder.resolve("offset"), "+0\n");
    try (JavaProcess planner = planner(offset)) {
      planner.awaitReady();
      client.publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
      ShardingPlan first = plan(planner, 1);
      setClock(offset, "-3600\n");
      client.publish(event(upsert("b", 9_000, 8, 2)));
      assertThat(plan(planner, 2).run().createdAt())
          .as("the planner saw the clock go back")
          .isBefore(first.run().createdAt());
      // Longer than a session and a transaction of TestSettings.SHORT_SESSIONS last.
      Thread.sleep(6_000);
      client.publish(event(upsert("c", 9_000, 8, 2)));
      plan(planner, 3);
      setClock(offset, "+7200\n");
      client.publish(event(upsert("d", 9_000, 8, 2)));
      assertThat(plan(planner, 4).run().createdAt())
          .as("the planner saw the clock go forward")
          .isAfter(first.run().createdAt().plusSeconds(7_000));
      setClock(offset, "+0\n");
      client.publish(event(upsert("e", 9_000, 8, 2)));
      plan(planner, 5);
      assertThat(client.committed(client.topics().of(REJECTED_EVENTS))).isEmpty();
    }
  }

  /** Kafka's clients send no heartbeats then: as a member of its group it would come and go. */
  @Test
  void run_ends_when_the_clock_is_set_back_and_starts_again_as_after_a_kill() throws Exception {
    Path offset = Files.writeString(folder.resolve("offset"), "+0\n");
    Path settings =
        Files.write(
            folder.resolve("shardtide.properties"),
            List.of(
                "bootstrap.servers=" + kafka.bootstrapServers(),
                "schema.registry.url=" + registry.url(),
                "topics.prefix=" + prefix,
                "topics.partitions=1",
                "topics.replication=1",
                "state.directory=" + folder.resolve("run-state"),
                "http.port=0",
                "kafka.session.timeout.ms=2000"));
    try (JavaProcess run =
            JavaProcess.prepare(
                folder.resolve("run.out"),
                "Serving.",
                List.of("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
                clock(offset),
                List.of(Shardtide.class.getName(), "run", "--config", settings.toString()));
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      run.start();
      run.awaitReady();
      client.publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
      plan(run, 1);
      Files.writeString(offset, "-3600\n");
      await().atMost(Duration.ofMinutes(1)).until(() -> !run.isAlive());
      assertThat(run.output()).contains("was set back by 3600 s");
      run.start();
      run.awaitReady();
      client.publish(event(upsert("b", 9_000, 8, 2)));
      plan(run, 2);
      List<String> members = members(admin);
      // Twice the session.
      Thread.sleep(4_000);
      assertThat(members(admin)).hasSize(1).isEqualTo(members);
    }
  }

  private List<String> members(Admin admin) throws Exception {
    return admin
        .describeConsumerGroups(List.of(prefix + "planning"))
        .all()
        .get()
        .get(prefix + "planning")
        .members()
        .stream()
        .map(MemberDescription::consumerId)
        .toList();
  }

  /** What it writes is from the future, and brokers refuse that. */
  @Test
  void a_planner_started_with_a_clock_far_ahead_reports_it_and_loses_nothing() throws Exception {
    Path offset = Files.writeString(folder.resolve("offset"), "+7200\n");
    try (JavaProcess planner = planner(offset)) {
      await()
          .atMost(Duration.ofMinutes(2))
          .until(
              () -> planner.output().contains("is out of range. The timestamp should be within"));
    }
    client.publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    Files.writeString(offset, "+0\n");
    try (JavaProcess planner = planner(offset)) {
      assertThat(plan(planner, 1).origin().firstGeneration()).isEqualTo(1);
    }
  }
}
