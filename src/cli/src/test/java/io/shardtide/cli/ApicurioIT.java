package io.shardtide.cli;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Apicurio;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Apicurio as the registry of a planner with publishers, plans, a replay and records with ids that
 * it does not have. Skipped where it cannot be had.
 */
@Tag("nightly")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ApicurioIT {
  private static final String PREFIX = SharedCluster.freshPrefix();

  private Apicurio apicurio;

  @TempDir private Path folder;

  @BeforeAll
  void start() throws Exception {
    apicurio = Apicurio.start();
  }

  @AfterAll
  void stop() {
    if (apicurio != null) {
      apicurio.close();
    }
  }

  @Test
  void events_are_planned_plans_are_replayed_and_odd_ids_are_rejected() throws Exception {
    EmbeddedKafka kafka = SharedCluster.kafka();
    try (PlannerService planner =
            PlannerService.start(
                new PlannerParts(
                    TestSettings.of(
                            kafka.bootstrapServers(),
                            apicurio.url(),
                            PREFIX,
                            folder.resolve("state"))
                        .build(),
                    List.of(TestModels.bundle()),
                    TensorFlowTowers::new));
        LogClient client = new LogClient(kafka.bootstrapServers(), apicurio.url(), PREFIX)) {
      assertThat(planner).isNotNull();
      client.publish(event(set(2, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
      client.plans(1);
      byte[] odd =
          client
              .registry()
              .serde(client.topics().of(WORKLOAD_CHANGES))
              .serializer()
              .serialize(client.topics().of(WORKLOAD_CHANGES).name(), event(upsert("b", 9, 8, 1)));
      ByteBuffer.wrap(odd).putInt(1, 999_999_999);
      client.publish(Fixtures.WORKLOAD, odd);
      client.publish(Fixtures.WORKLOAD, client.withForeignSchema(event(upsert("c", 1_000, 8, 2))));
      List<ShardingPlan> plans = client.plans(2);
      assertThat(plans.get(1).reason()).isEqualTo("1 table added (c)");
      List<RejectedEvent> rejections =
          Awaitility.await()
              .atMost(Duration.ofMinutes(1))
              .until(
                  () -> client.committed(client.topics().of(REJECTED_EVENTS)),
                  all -> !all.isEmpty());
      assertThat(rejections)
          .singleElement()
          .satisfies(
              rejection -> {
                assertThat(rejection.reason()).isEqualTo(RejectionReason.UNKNOWN_SCHEMA);
                assertThat(rejection.message()).contains("got 999999999", "404");
              });
    }
    Path out = folder.resolve("replayed.jsonl");
    assertThat(run("replay", "--out", out.toString())).contains("2 equal, 0 differ");
  }

  private String run(String... arguments) {
    List<String> all = new ArrayList<>(List.of(arguments));
    all.addAll(List.of("--bootstrap", SharedCluster.kafka().bootstrapServers()));
    all.addAll(List.of("--registry", apicurio.url(), "--prefix", PREFIX));
    StringWriter out = new StringWriter();
    PrintWriter writer = new PrintWriter(out);
    assertThat(Shardtide.run(writer, writer, all.toArray(String[]::new))).as("%s", out).isZero();
    return out.toString();
  }
}
