package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.Change;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.Python;
import io.shardtide.testing.TestSettings;
import io.shardtide.torchrec.Target;
import io.shardtide.torchrec.TorchRecPlans;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import org.apache.kafka.common.utils.Utils;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The programs in {@code src/main/python} as a user runs them, against a broker, a registry and a
 * planner, where Debian's Python clients are installed (CI installs them).
 */
class PythonClientsIT {
  private static final String PREFIX = "python.";
  private static final int PARTITIONS = 6;
  private static final String FOLLOW = "src/main/python/follow_plans.py";
  private static final String PUBLISH = "src/main/python/publish_tables.py";

  @TempDir private static Path data;
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;
  private static PlannerService service;
  private static LogClient client;

  @BeforeAll
  static void start() throws Exception {
    assumeTrue(Python.has("confluent_kafka", "avro"), "Debian's Python clients are not installed");
    kafka = EmbeddedKafka.start(data.resolve("kafka"));
    registry = DevelopmentRegistry.start(0, Optional.empty());
    client = new LogClient(kafka.bootstrapServers(), registry.url(), PREFIX);
    ServiceSettings settings =
        TestSettings.of(kafka.bootstrapServers(), registry.url(), PREFIX, data.resolve("state"))
            .partitions(PARTITIONS)
            .build();
    service =
        PlannerService.start(
            settings,
            List.of(Fixtures.bundle()),
            TensorFlowTowers::new,
            // With a trainer, what is measured is compared; there is too little here to train on.
            Optional.of((champion, recent, old, sources, seed) -> champion));
  }

  @AfterAll
  static void stop() throws Exception {
    if (kafka != null) {
      service.close();
      client.close();
      registry.close();
      kafka.close();
    }
  }

  private static Python.Ended run(String script, String... arguments) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(script, kafka.bootstrapServers(), registry.url(), "--prefix", PREFIX));
    command.addAll(List.of(arguments));
    return Python.run(data, command.toArray(new String[0]));
  }

  private static List<ShardingPlan> plans(String workload) {
    return client.committed(client.topics().shardingPlans()).stream()
        .filter(plan -> plan.workloadId().equals(workload))
        .toList();
  }

  private static List<PlanStatus> reports(String workload) {
    return client.committed(client.topics().planStatus()).stream()
        .filter(status -> status.workloadId().equals(workload))
        .toList();
  }

  private static String shown(ShardingPlan plan) {
    return plan.planId().substring(0, 12);
  }

  @Test
  void values_are_completed_and_checked() throws Exception {
    Python.Ended tests = Python.run(data, "-m", "unittest", "src/test/python/test_log.py");
    assertThat(tests.status()).as(tests.err()).isZero();
    assertThat(tests.err()).contains("Ran 6 tests").contains("\nOK");
  }

  @Test
  void a_planner_that_never_started_is_said() throws Exception {
    Python.Ended published = publish("[]", "--prefix", "nobody.");
    assertThat(published.status()).isEqualTo(1);
    assertThat(published.err()).startsWith("publish_tables.py: ").doesNotContain("Traceback");
  }

  @Test
  void the_tour_says_all_that_publishers_and_trainers_say() throws Exception {
    String workload = "python-tour";
    byte[] key = workload.getBytes(StandardCharsets.UTF_8);
    CRC32 crc = new CRC32();
    crc.update(key);
    assertThat(Utils.toPositive(Utils.murmur2(key)) % PARTITIONS)
        .as("librdkafka's own partition, where this workload's records must not go")
        .isNotEqualTo((int) (crc.getValue() % PARTITIONS));

    Python.Ended tour = run(FOLLOW, "--tour");
    assertThat(tour.status()).as(tour.err()).isZero();
    List<ShardingPlan> plans = plans(workload);
    assertThat(plans).hasSize(3);
    ShardingPlan first = plans.get(0);
    ShardingPlan last = plans.get(2);
    assertThat(plans.get(1).previousPlanId()).contains(first.planId());
    assertThat(last.previousPlanId())
        .as("the plan between was not adopted")
        .contains(first.planId());
    assertThat(tour.out().lines())
        .hasSize(11)
        .anyMatch(
            line ->
                line.startsWith("python-tour generation 1: plan " + shown(first))
                    && line.endsWith("predicted %.3f ms a step".formatted(first.predictedMs())))
        .contains("adopted %s at step 100".formatted(shown(first)))
        .contains("measured %s up to step 300".formatted(shown(last)))
        .contains(
            "rejected INVALID_COLUMNS: Table \"queries\" has 30 columns; legal are multiples of 4 from 4 to 4096");
    assertThat(tour.out().lines().filter(("follows " + shown(first))::equals)).hasSize(2);

    assertThat(reports(workload))
        .extracting(PlanStatus::planId, PlanStatus::kind, PlanStatus::step)
        .containsExactly(
            tuple(first.planId(), PlanStatus.StatusKind.ADOPTED, 100L),
            tuple(last.planId(), PlanStatus.StatusKind.ADOPTED, 200L));
    assertThat(client.committed(client.topics().measuredCosts()))
        .singleElement()
        .extracting(MeasuredCosts::planId, MeasuredCosts::step, m -> m.devices().size())
        .containsExactly(last.planId(), 300L, 2);
    await()
        .atMost(Duration.ofSeconds(60))
        .untilAsserted(
            () ->
                assertThat(client.committed(client.topics().trainingSamples()))
                    .as("what was measured can be learned from")
                    .isNotEmpty()
                    .extracting(CostSample::planId)
                    .containsOnly(last.planId()));
    assertThat(client.committed(client.topics().rejectedEvents()))
        .as("of all that was said, the mistake alone is refused")
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
        Python.script(FOLLOW, kafka.bootstrapServers(), registry.url(), "--prefix", PREFIX)
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

  /** Publishes tables as a user of TorchRec does. */
  private static Python.Ended publish(String configs, String... more) throws Exception {
    Path file = Files.writeString(data.resolve("configs.json"), configs);
    Path lookups =
        Files.writeString(data.resolve("lookups.json"), "{\"f\": 10, \"g\": 5, \"t2\": 1}");
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "--workload",
                "ebc",
                "--configs",
                file.toString(),
                "--lookups",
                lookups.toString(),
                "--devices",
                "2",
                "--memory-gib",
                "4",
                "--batch-size",
                "65536",
                "--hardware",
                Fixtures.bundle().hardware()));
    arguments.addAll(
        List.of(
            "--settings",
            Files.writeString(data.resolve("settings.json"), "{\"client.id\": \"tables\"}")
                .toString()));
    arguments.addAll(List.of(more));
    return run(PUBLISH, arguments.toArray(new String[0]));
  }

  private static String config(String name, int rows, int columns, String features) {
    return "{\"name\": \"%s\", \"num_embeddings\": %d, \"embedding_dim\": %d, \"feature_names\": %s, \"data_type\": \"FP32\"}"
        .formatted(name, rows, columns, features);
  }

  @Test
  void a_torchrec_collection_is_published_and_planned() throws Exception {
    String two =
        "[%s, %s]"
            .formatted(
                config("t1", 1_000_000, 64, "[\"f\", \"g\"]"), config("t2", 500_000, 32, "[]"));
    Python.Ended published = publish(two, "--optimizer", "rowwise_adagrad");
    assertThat(published.status()).as(published.err()).isZero();
    ShardingPlan plan = plans("ebc").get(0);
    assertThat(published.out()).startsWith("ebc generation 1: plan " + plan.planId());
    assertThat(published.err()).contains("Table t1 has 2 features");
    Map<String, Integer> columns = new TreeMap<>();
    for (Shard shard : plan.shards()) {
      columns.merge(shard.table(), shard.columns(), Integer::sum);
    }
    assertThat(columns).isEqualTo(Map.of("t1", 64, "t2", 32));
    assertThat(plan.deviceCosts().stream().mapToLong(cost -> cost.memoryBytes()).sum())
        .as("4 bytes a weight, and 4 bytes of the optimizer's a row")
        .isEqualTo(1_000_000L * (64 * 4 + 4) + 500_000L * (32 * 4 + 4));

    String one = "[%s]".formatted(config("t2", 500_000, 32, "[]"));
    assertThat(publish(one, "--drop-others").status()).isZero();
    assertThat(plans("ebc").get(1).shards()).extracting(Shard::table).containsOnly("t2");

    Python.Ended wrong = publish("[%s]".formatted(config("t2", 500_000, 30, "[]")));
    assertThat(wrong.status()).isEqualTo(1);
    assertThat(wrong.err()).startsWith("rejected: Table \"t2\" has 30 columns; legal are");

    Python.Ended vast =
        publish("[%s]".formatted(config("t2", 2_000_000_000, 32, "[]")), "--memory-gib", "1");
    assertThat(vast.status()).isEqualTo(1);
    assertThat(vast.err()).startsWith("infeasible: ").contains("GiB");
  }

  @Test
  void python_and_java_describe_a_plan_alike() throws Exception {
    client.publish(
        change(
            "described",
            set(4, Fixtures.GIB),
            upsert("large", 3_000_000, 128, 50),
            upsert("small", 1_000, 8, 2)));
    ShardingPlan plan = awaitPlan("described", 1);
    assertThat(new TreeSet<>(plan.shards().stream().map(Shard::device).toList()))
        .as("a plan that has more to it than one shard")
        .hasSizeGreaterThan(1);
    Python.Ended described =
        Python.run(
            data,
            "src/test/python/describe_plans.py",
            kafka.bootstrapServers(),
            registry.url(),
            PREFIX);
    assertThat(described.status()).as(described.err()).isZero();
    ObjectMapper json = new ObjectMapper();
    List<JsonNode> found = new ArrayList<>();
    for (String line : described.out().lines().toList()) {
      found.add(json.readTree(line));
    }
    assertThat(found)
        .contains(
            json.readTree(
                json.writeValueAsString(new TorchRecPlans(Target.DEFAULT).describe(plan))));
  }

  /** A model goes from plan to plan between steps, and says so; what cannot be is rejected. */
  @Test
  @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void a_model_follows_plans_and_reports() throws Exception {
    String workload = "followed";
    client.publish(
        change(
            workload,
            set(2, Fixtures.GIB),
            upsert("a", 100_000, 64, 5),
            upsert("b", 90_000, 64, 5)));
    String first = awaitPlan(workload, 1).planId();
    Process process =
        Python.script(
                "src/test/python/follow_without_torch.py",
                kafka.bootstrapServers(),
                registry.url(),
                PREFIX,
                workload)
            .redirectError(data.resolve("model.err").toFile())
            .start();
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
        BufferedWriter in = process.outputWriter(StandardCharsets.UTF_8)) {
      assertThat(out.readLine())
          .as(Files.readString(data.resolve("model.err")))
          .isEqualTo("starts with " + first);
      client.publish(change(workload, upsert("a", 100_000, 64, 100)));
      String second = awaitPlan(workload, 2).planId();
      tell(in, second);
      assertThat(out.readLine())
          .as(() -> reports(workload).stream().map(PlanStatus::reason).toList().toString())
          .isEqualTo("runs " + second);
      client.publish(change(workload, upsert("c", 1_000, 8, 1)));
      ShardingPlan third = awaitPlan(workload, 3);
      tell(in, third.planId());
      assertThat(out.readLine()).as("a table that is new").isEqualTo("runs " + second);
      assertThat(third.previousPlanId()).contains(second);

      List<PlanStatus> reports = reports(workload);
      assertThat(reports)
          .extracting(PlanStatus::planId, PlanStatus::kind)
          .containsExactly(
              tuple(first, PlanStatus.StatusKind.FINISHED_MOVING),
              tuple(second, PlanStatus.StatusKind.FINISHED_MOVING),
              tuple(third.planId(), PlanStatus.StatusKind.REJECTED));
      assertThat(reports.get(2).reason())
          .contains("Table \"c\" is new; legal are the tables of the running plan");
    } finally {
      process.destroy();
      assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  private static void tell(BufferedWriter in, String line) throws IOException {
    in.write(line + "\n");
    in.flush();
  }

  private static WorkloadChange change(String workload, Change... changes) {
    return new WorkloadChange(
        UUID.randomUUID(), workload, Fixtures.TIME, "test", OptionalLong.empty(), List.of(changes));
  }

  private static ShardingPlan awaitPlan(String workload, int number) {
    await().atMost(Duration.ofSeconds(60)).until(() -> plans(workload).size() >= number);
    return plans(workload).get(number - 1);
  }
}
