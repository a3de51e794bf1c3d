package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.embedded.KafkaCluster;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.Python;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import org.apache.kafka.common.utils.Utils;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The Python clients against a broker, a registry and a planner. */
class PythonClientsIT {
  private static final String PREFIX = SharedCluster.freshPrefix();
  private static final int PARTITIONS = 6;

  @TempDir private static Path data;
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;
  private static PlannerService service;
  private static LogClient client;

  @BeforeAll
  static void start() throws Exception {
    Python.assumeHas("confluent_kafka", "avro");
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
    client = new LogClient(kafka.bootstrapServers(), registry.url(), PREFIX);
    ServiceSettings settings =
        TestSettings.of(kafka.bootstrapServers(), registry.url(), PREFIX, data.resolve("state"))
            .partitions(PARTITIONS)
            .build();
    service =
        PlannerService.start(
            new PlannerParts(settings, List.of(TestModels.bundle()), TensorFlowTowers::new)
                .with()
                .trainer( // With retraining on, measured costs become samples; there are too few
                    // here to train
                    // on.
                    Optional.of((champion, towers, recent, old, sources, seed) -> champion))
                .build());
  }

  @AfterAll
  static void stop() throws Exception {
    if (kafka != null) {
      service.close();
      client.close();
    }
  }

  private static String shown(ShardingPlan plan) {
    return plan.planId().substring(0, 12);
  }

  /** Without a planner, whose records the tests write themselves, among many that are none. */
  @Test
  void clients_find_their_records_among_foreign_ones() throws Exception {
    String prefix = "python-alone.";
    client.registry().register(Topics.withPrefix(prefix));
    Python.test(
        data,
        Map.of("KAFKA", kafka.bootstrapServers(), "REGISTRY", registry.url(), "PREFIX", prefix),
        "test_clients.py");
  }

  @Test
  void the_tour_does_all_that_publishers_and_trainers_do() throws Exception {
    String workload = "python-tour";
    byte[] key = workload.getBytes(StandardCharsets.UTF_8);
    CRC32 crc = new CRC32();
    crc.update(key);
    assertThat(Utils.toPositive(Utils.murmur2(key)) % PARTITIONS)
        .as("librdkafka's own partition, where this workload's records must not go")
        .isNotEqualTo((int) (crc.getValue() % PARTITIONS));

    Python.Ended tour =
        Python.run(
            data, "examples/python/tour.py", kafka.bootstrapServers(), registry.url(), PREFIX);
    assertThat(tour.status()).as(tour.err()).isZero();
    List<ShardingPlan> plans = client.plansOf(workload);
    assertThat(plans).hasSize(3);
    ShardingPlan first = plans.get(0);
    ShardingPlan last = plans.get(2);
    assertThat(plans.get(1).origin().previousPlanId()).contains(first.planId());
    assertThat(last.origin().previousPlanId())
        .as("the plan between was not adopted")
        .contains(first.planId());
    assertThat(tour.out().lines())
        .hasSize(12)
        .anyMatch(
            line ->
                line.startsWith("python-tour generation 1: plan " + shown(first))
                    && line.endsWith("predicted %.3f ms a step".formatted(first.predictedMs())))
        .contains("adopted %s at step 100".formatted(shown(first)))
        .contains("measured %s up to step 300".formatted(shown(last)))
        .anyMatch(
            line -> line.startsWith("rejected INVALID_COLUMNS: columns of table \"queries\" "))
        .endsWith("deleted by generation 4");
    assertThat(tour.out().lines().filter(("follows " + shown(first))::equals)).hasSize(2);

    assertThat(client.statusesOf(workload))
        .extracting(PlanStatus::planId, PlanStatus::kind, PlanStatus::step)
        .containsExactly(
            tuple(first.planId(), PlanStatus.StatusKind.ADOPTED, 100L),
            tuple(last.planId(), PlanStatus.StatusKind.ADOPTED, 200L));
    assertThat(client.committed(client.topics().of(MEASURED_COSTS)))
        .singleElement()
        .extracting(MeasuredCosts::planId, MeasuredCosts::step, m -> m.devices().size())
        .containsExactly(last.planId(), 300L, 2);
    await()
        .atMost(Duration.ofSeconds(60))
        .untilAsserted(
            () ->
                assertThat(client.committed(client.topics().of(TRAINING_SAMPLES)))
                    .as("measured costs become training samples")
                    .isNotEmpty()
                    .extracting(CostSample::planId)
                    .containsOnly(last.planId()));
    assertThat(client.committed(client.topics().of(REJECTED_EVENTS)))
        .as("only the wrong change is rejected")
        .filteredOn(rejected -> rejected.workloadId().equals(Optional.of(workload)))
        .extracting(RejectedEvent::reason)
        .containsExactly(RejectionReason.INVALID_COLUMNS);
  }

  @Test
  @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void the_latest_plan_of_each_workload_comes_first_and_then_new_ones() throws Exception {
    client.publish(event(set(2, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    client.publish(event(upsert("a", 100_000, 64, 6)));
    ShardingPlan second = awaitPlan(Fixtures.WORKLOAD, 2);
    Process process =
        Python.script(
                "-m", "shardtide.log", kafka.bootstrapServers(), registry.url(), "--prefix", PREFIX)
            .redirectError(data.resolve("follow.err").toFile())
            .start();
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      List<String> before = new ArrayList<>();
      String line = out.readLine();
      while (line != null && !line.endsWith("waiting for new plans")) {
        before.add(line);
        line = out.readLine();
      }
      assertThat(line).as(Files.readString(data.resolve("follow.err"))).isNotNull();
      assertThat(before)
          .filteredOn(l -> l.startsWith(Fixtures.WORKLOAD))
          .singleElement()
          .asString()
          .contains("generation 2: plan " + shown(second));
      client.publish(event(upsert("a", 100_000, 64, 7)));
      String next = out.readLine();
      while (!next.startsWith(Fixtures.WORKLOAD)) {
        next = out.readLine();
      }
      assertThat(next).contains("generation 3: plan " + shown(awaitPlan(Fixtures.WORKLOAD, 3)));
    } finally {
      process.destroy();
      assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  private static ShardingPlan awaitPlan(String workload, int number) {
    await().atMost(Duration.ofSeconds(60)).until(() -> client.plansOf(workload).size() >= number);
    return client.plansOf(workload).get(number - 1);
  }

  /** Training goes on while a broker is killed and started again. */
  @Tag("nightly")
  @Test
  void two_ranks_of_torch_never_wait_for_kafka(@TempDir Path folder) throws Exception {
    Python.assumeHas("torch");
    KafkaCluster cluster = KafkaCluster.of(folder.resolve("kafka"), 1).prepare();
    String broker = new ObjectMapper().writeValueAsString(cluster.brokers().get(0).command());
    try (DevelopmentRegistry server = DevelopmentRegistry.start(0, Optional.empty());
        Registry schemas = Registry.connect(server.url(), Map.of())) {
      schemas.register(Topics.withPrefix(PREFIX));
      System.out.print(
          Python.test(
              folder,
              Map.of("REGISTRY", server.url(), "PREFIX", PREFIX, "BROKER", broker),
              "test_outage.py"));
    }
  }
}
