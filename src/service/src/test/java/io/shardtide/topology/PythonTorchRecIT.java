package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LocalPlanner;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.Python;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
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
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** TorchRec's way in and out in Python, against a broker, a registry and a planner. */
class PythonTorchRecIT {
  private static final String PREFIX = "torchrec.";

  @TempDir private static Path data;
  private static LocalPlanner planner;
  private static LogClient client;

  @BeforeAll
  static void start() throws Exception {
    Python.assumeHas("confluent_kafka", "avro");
    planner = LocalPlanner.start(data, PREFIX, 3);
    client = planner.log();
  }

  @AfterAll
  static void stop() throws Exception {
    if (planner != null) {
      client.close();
      planner.close();
    }
  }

  private static Python.Ended run(String... arguments) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                "-m",
                "shardtide.torchrec.publish",
                planner.bootstrapServers(),
                planner.registryUrl(),
                "--prefix",
                PREFIX));
    command.addAll(List.of(arguments));
    return Python.run(data, command.toArray(new String[0]));
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
                TestModels.bundle().hardware()));
    arguments.addAll(
        List.of(
            "--settings",
            Files.writeString(data.resolve("settings.json"), "{\"client.id\": \"tables\"}")
                .toString()));
    arguments.addAll(List.of(more));
    return run(arguments.toArray(new String[0]));
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
    assertThat(published.out()).isEqualTo("ebc generation 1\n");
    ShardingPlan plan = awaitPlan("ebc", 1);
    assertThat(published.err()).isEmpty();
    Map<String, Integer> columns = new TreeMap<>();
    for (Shard shard : plan.shards()) {
      columns.merge(shard.table(), shard.columns(), Integer::sum);
    }
    assertThat(columns).isEqualTo(Map.of("t1", 64, "t2", 32));
    assertThat(plan.prediction().deviceCosts().stream().mapToLong(cost -> cost.memoryBytes()).sum())
        .as("4 bytes a weight, and 4 bytes of the optimizer's a row of each shard")
        .isEqualTo(plan.shards().stream().mapToLong(s -> s.rows() * (s.columns() * 4 + 4)).sum());

    String one = "[%s]".formatted(config("t2", 500_000, 32, "[]"));
    String previous = Files.writeString(data.resolve("previous.json"), two).toString();
    assertThat(publish(one, "--previous", previous).out()).isEqualTo("ebc generation 2\n");
    assertThat(awaitPlan("ebc", 2).shards()).extracting(Shard::table).containsOnly("t2");

    Python.Ended wrong = publish("[%s]".formatted(config("t2", 500_000, 30, "[]")));
    assertThat(wrong.status()).isEqualTo(1);
    assertThat(wrong.err()).startsWith("rejected INVALID_COLUMNS: columns of table \"t2\" ");

    String other = "[%s]".formatted(config("t3", 500_000, 32, "[\"f\"]"));
    assertThat(publish(other, "--drop", "t2").out()).isEqualTo("ebc generation 3\n");
    assertThat(awaitPlan("ebc", 3).shards()).extracting(Shard::table).containsOnly("t3");
  }

  @Test
  void a_planner_that_never_started_is_one_line() throws Exception {
    Python.Ended published = publish("[]", "--prefix", "never-started.");
    assertThat(published.status()).isEqualTo(1);
    assertThat(published.err().lines())
        .singleElement()
        .asString()
        .startsWith("shardtide-py publish: The schema registry at " + planner.registryUrl())
        .endsWith("Check the prefix");
  }

  /** Of the log, and as plan watch prints it. */
  @Test
  void a_plan_has_one_description_wherever_it_comes_from() throws Exception {
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
            "src/python/tests/describe_plans.py",
            planner.bootstrapServers(),
            planner.registryUrl(),
            PREFIX);
    assertThat(described.status()).as(described.err()).isZero();
    ObjectMapper json = new ObjectMapper();
    List<JsonNode> found = new ArrayList<>();
    for (String line : described.out().lines().toList()) {
      found.add(json.readTree(line));
    }
    Path printed = data.resolve("printed.jsonl");
    Files.writeString(printed, new JsonLines<>(Codec.SHARDING_PLAN).write(plan));
    Python.Ended converted =
        Python.run(data, "-m", "shardtide.torchrec.convert", printed.toString());
    assertThat(converted.status()).as(converted.err()).isZero();
    assertThat(found).contains(json.readTree(converted.out()));
  }

  /** A model goes from plan to plan between steps and reports it; it rejects what it cannot run. */
  @Test
  @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void a_model_follows_plans_and_reports() throws Exception {
    String workload = "followed";
    client.publish(
        change(
            workload,
            set(1, Fixtures.GIB),
            upsert("a", 100_000, 64, 5),
            upsert("b", 90_000, 64, 5)));
    String first = awaitPlan(workload, 1).planId();
    Process process =
        Python.script(
                "src/python/tests/follow_without_torch.py",
                planner.bootstrapServers(),
                planner.registryUrl(),
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
          .as(
              () ->
                  client.statusesOf(workload).stream().map(PlanStatus::reason).toList().toString())
          .isEqualTo("runs " + second);
      client.publish(change(workload, upsert("c", 1_000, 8, 1)));
      ShardingPlan third = awaitPlan(workload, 3);
      tell(in, third.planId());
      assertThat(out.readLine()).as("a table that is new").isEqualTo("runs " + second);
      assertThat(third.origin().previousPlanId()).contains(second);

      List<PlanStatus> reports = client.statusesOf(workload);
      assertThat(reports)
          .extracting(PlanStatus::planId, PlanStatus::kind)
          .containsExactly(
              tuple(first, PlanStatus.StatusKind.FINISHED_MOVING),
              tuple(second, PlanStatus.StatusKind.FINISHED_MOVING),
              tuple(third.planId(), PlanStatus.StatusKind.REJECTED));
      assertThat(reports.get(2).reason()).asString().contains("Table \"c\" is new");
    } finally {
      process.destroy();
      assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  /**
   * The example trains on four processes, and its table grows: two plans, and the losses of an
   * unsharded model.
   */
  @Test
  void a_model_trains_with_plans_of_the_log() throws Exception {
    Python.assumeHas("torchrec", "fbgemm_gpu");
    Python.Ended trained =
        Python.run(
            data,
            Map.of("OMP_NUM_THREADS", "1"),
            "examples/torchrec/one_line.py",
            "--bootstrap-servers",
            planner.bootstrapServers(),
            "--registry",
            planner.registryUrl(),
            "--prefix",
            PREFIX);
    assertThat(trained.status()).as(trained.err()).isZero();
    JsonNode found = new ObjectMapper().readTree(trained.out());
    assertThat(found.get("plans").findValuesAsText("by")).containsExactly("log", "log");
    assertThat(found.get("plans").findValuesAsText("generation")).containsExactly("1", "2");
    assertThat(found.get("largest_difference").doubleValue()).isLessThan(1e-5);
    List<ShardingPlan> plans = client.plansOf("one-line");
    assertThat(rowsOf("item", plans.get(0))).isEqualTo(2000);
    assertThat(rowsOf("item", plans.get(plans.size() - 1))).isEqualTo(3000);
    assertThat(plans.get(0).shards())
        .as("as the example's constraints say")
        .filteredOn(shard -> shard.table().equals("city"))
        .singleElement()
        .matches(Shard::isCopied);
  }

  private static long rowsOf(String table, ShardingPlan plan) {
    return plan.shards().stream()
        .filter(shard -> shard.table().equals(table))
        .mapToLong(shard -> shard.rowOffset() + shard.rows())
        .max()
        .orElseThrow();
  }

  /** Plans, rejections and outages, as TorchRec's planner interface shows them. */
  @Test
  void a_planner_of_torchrec_has_the_plan_or_the_reason() throws Exception {
    Python.assumeHas("torchrec", "fbgemm_gpu");
    Python.Ended ended =
        Python.run(
            data,
            Map.of("OMP_NUM_THREADS", "1"),
            "src/python/tests/plan_with_log.py",
            planner.bootstrapServers(),
            planner.registryUrl(),
            PREFIX);
    assertThat(ended.status()).as(ended.err()).isZero();
    ObjectMapper json = new ObjectMapper();
    Map<String, JsonNode> cases = new TreeMap<>();
    for (String line : ended.out().lines().toList()) {
      JsonNode found = json.readTree(line);
      cases.put(found.get("case").textValue(), found);
    }
    assertThat(cases.get("no plan yet").path("error").asText())
        .startsWith("TimedOut: Workload one-line-cases has no plan yet");
    assertThat(cases.get("first").path("generation").asInt()).as("%s", cases).isEqualTo(1);
    assertThat(cases.get("first").path("tables")).hasToString("[\"a\",\"b\"]");
    assertThat(cases.get("published by others").path("generation").asInt()).isEqualTo(1);
    assertThat(cases.get("old plan").path("error").asText())
        .isEqualTo(
            "ValueError: Tables b of the plan are not in the model; must be a plan of its tables");
    assertThat(cases.get("another table").path("tables"))
        .as("b is dropped: %s", cases)
        .hasToString("[\"a\",\"c\"]");
    assertThat(cases.get("rejected").path("error").asText())
        .as("no plan of the fallback")
        .startsWith(
            "PlanRefused: The planner rejected the tables of workload one-line-cases: columns of table \"a\"")
        .endsWith("(INVALID_COLUMNS)");
    assertThat(cases.get("too large").path("error").asText())
        .as("no plan of the fallback")
        .startsWith("PlanRefused: Workload one-line-cases has no plan: ");
    assertThat(cases.get("small again").path("tables")).as("%s", cases).hasToString("[\"a\"]");
    for (String fallen : List.of("away", "registry away", "no planner")) {
      assertThat(cases.get(fallen).path("by").asText())
          .as("%s", cases.get(fallen))
          .isEqualTo("EmbeddingShardingPlanner");
    }
    assertThat(cases.get("away").path("reason").asText()).contains("127.0.0.1:1");
    assertThat(cases.get("no planner").path("reason").asText()).contains("Check the prefix");
    assertThat(cases.get("away without fallback").path("error").asText())
        .startsWith("Unreachable: Kafka at 127.0.0.1:1 does not answer");
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
    await().atMost(Duration.ofSeconds(60)).until(() -> client.plansOf(workload).size() >= number);
    return client.plansOf(workload).get(number - 1);
  }
}
