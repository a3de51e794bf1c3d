package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.shardtide.domain.ShardingPlan;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Child;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A planner whose machine's clock is set back by an hour, with Debian's libfaketime: the process
 * sees another time of day, while what has passed is as it is. Skipped where there is no
 * libfaketime.
 */
class ClockIT {
  private static final Path FAKETIME =
      Path.of("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1");

  @TempDir private Path folder;

  @Test
  void a_clock_that_is_set_back_stops_nothing() throws Exception {
    assumeThat(FAKETIME).as("Debian's libfaketime").exists();
    Path offset = folder.resolve("offset");
    Files.writeString(offset, "+0\n");
    Map<String, String> environment =
        Map.of(
            "LD_PRELOAD",
            FAKETIME.toString(),
            "FAKETIME_TIMESTAMP_FILE",
            offset.toString(),
            "FAKETIME_NO_CACHE",
            "1",
            "FAKETIME_DONT_FAKE_MONOTONIC",
            "1");
    String prefix = PlanningGuarantees.freshPrefix();
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"));
        DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.empty());
        LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
        Child planner =
            Child.planner(
                folder,
                environment,
                List.of(
                    kafka.bootstrapServers(),
                    registry.url(),
                    prefix,
                    "1",
                    folder.resolve("state").toString(),
                    "BURSTS"))) {
      planner.awaitReady();
      client.publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
      assertThat(client.plans(1)).as(planner.output()).hasSize(1);
      Files.writeString(offset, "-3600\n");
      client.publish(event(upsert("b", 9_000, 8, 2)));
      assertThat(client.plans(2)).as(planner.output()).hasSizeGreaterThanOrEqualTo(2);
      // Longer than a session, and than a transaction may last.
      Thread.sleep(15_000);
      client.publish(event(upsert("c", 9_000, 8, 2)));
      List<ShardingPlan> plans = client.plans(3);
      assertThat(plans).as(planner.output()).hasSizeGreaterThanOrEqualTo(3);
      assertThat(plans.get(0).createdAt())
          .as("the planner saw the clock go back")
          .isAfter(plans.get(plans.size() - 1).createdAt());
      assertThat(client.rejected(0)).isEmpty();
    }
  }
}
