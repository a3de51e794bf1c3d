package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.domain.ShardingPlan;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.embedded.JavaProcess;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlannerProgram;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Planners whose machine's clock is set, with Debian's libfaketime: the process sees another time
 * of day, while what has passed is as it is. Skipped where there is no libfaketime.
 */
class ClockIT {
  private static final Path FAKETIME =
      Path.of("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1");

  @TempDir private static Path data;
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;

  @TempDir private Path folder;
  private final String prefix = PlanningGuarantees.freshPrefix();
  private LogClient client;

  @BeforeAll
  static void start() throws Exception {
    assumeThat(FAKETIME).as("Debian's libfaketime").exists();
    kafka = EmbeddedKafka.start(data);
    registry = DevelopmentRegistry.start(0, Optional.empty());
  }

  @AfterAll
  static void stop() throws Exception {
    if (kafka != null) {
      registry.close();
      kafka.close();
    }
  }

  @BeforeEach
  void connect() {
    client = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
  }

  @AfterEach
  void disconnect() throws Exception {
    client.close();
  }

  /** Starts a planner whose clock is as far from the machine's as a file says, in seconds. */
  private JavaProcess planner(Path offset) throws Exception {
    return PlannerProgram.start(
        folder,
        Map.of(
            "LD_PRELOAD",
            FAKETIME.toString(),
            "FAKETIME_TIMESTAMP_FILE",
            offset.toString(),
            "FAKETIME_CACHE_DURATION",
            "1",
            "FAKETIME_DONT_FAKE_MONOTONIC",
            "1"),
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
      for (ShardingPlan plan : client.committed(client.topics().shardingPlans())) {
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
      assertThat(plan(planner, 2).createdAt())
          .as("the planner saw the clock go back")
          .isBefore(first.createdAt());
      // Longer than a session and a transaction of TestSettings.SHORT_SESSIONS last.
      Thread.sleep(6_000);
      client.publish(event(upsert("c", 9_000, 8, 2)));
      plan(planner, 3);
      setClock(offset, "+7200\n");
      client.publish(event(upsert("d", 9_000, 8, 2)));
      assertThat(plan(planner, 4).createdAt())
          .as("the planner saw the clock go forward")
          .isAfter(first.createdAt().plusSeconds(7_000));
      setClock(offset, "+0\n");
      client.publish(event(upsert("e", 9_000, 8, 2)));
      plan(planner, 5);
      assertThat(client.committed(client.topics().rejectedEvents())).isEmpty();
    }
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
      assertThat(plan(planner, 1).firstGeneration()).isEqualTo(1);
    }
  }
}
