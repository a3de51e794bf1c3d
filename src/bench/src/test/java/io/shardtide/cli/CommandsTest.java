package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.files.TextFiles;
import io.shardtide.models.ModelFiles;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The commands as a person or a program calls them. */
class CommandsTest {
  private static final Path REFERENCE = Path.of("src/models/src/test/resources/reference");
  private static final Path FOUR = REFERENCE.resolve("tasks/4gpu_dim128.jsonl.gz");
  private static final String MEMORY = "4294967296,";
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... args) {
    return Shardtide.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  /** Complete, and within 4 GiB a device; {@code ReferenceTasksTest} has the other tasks. */
  @ParameterizedTest
  @CsvSource({"4,4", "4,128", "8,8"})
  void reference_tasks_are_solved(int devices, int widest) throws IOException {
    Path file = folder.resolve("plans.jsonl");
    Path tasks = REFERENCE.resolve("tasks/%dgpu_dim%d.jsonl.gz".formatted(devices, widest));
    int status = run("plan", "--workloads", tasks.toString(), "--out", file.toString());
    assertThat(status).as(err.toString()).isZero();
    assertThat(out.toString()).startsWith("6 of 6 tasks planned");
    List<String> lines = Files.readAllLines(file);
    List<WorkloadTask> workloads = WorkloadTask.read(tasks);
    assertThat(lines).hasSize(6);
    for (int t = 0; t < 6; t++) {
      JsonNode plan = JSON.readTree(lines.get(t));
      assertThat(plan.get("task").textValue()).isEqualTo(Integer.toString(t));
      assertThat(plan.get("feasible").booleanValue()).isTrue();
      assertThat(plan.get("predicted_ms").doubleValue()).isPositive();
      assertThat(plan.get("seconds").doubleValue()).isPositive();
      assertThat(plan.get("world_size").intValue()).isEqualTo(devices);
      check(plan.get("tables"), workloads.get(t).tables(), devices);
    }
  }

  private static void check(JsonNode planned, List<TableSpec> tables, int devices) {
    long[] bytes = new long[devices];
    assertThat(planned).hasSameSizeAs(tables);
    for (int t = 0; t < tables.size(); t++) {
      int[] covered = new int[tables.get(t).columns()];
      assertThat(planned.get(t).get("name").textValue()).isEqualTo(tables.get(t).name());
      for (JsonNode shard : planned.get(t).get("shards")) {
        int columns = shard.get("columns").intValue();
        assertThat(columns % 4).isZero();
        for (int c = 0; c < columns; c++) {
          covered[shard.get("column_offset").intValue() + c]++;
        }
        assertThat(shard.get("rows").longValue()).isEqualTo(tables.get(t).rows());
        bytes[shard.get("device").intValue()] += 4 * tables.get(t).rows() * columns;
      }
      assertThat(covered).containsOnly(1);
    }
    assertThat(Arrays.stream(bytes).max().orElseThrow()).isLessThanOrEqualTo(4L << 30);
  }

  private Path changed(String from, String to) throws IOException {
    return Files.writeString(
        folder.resolve("workloads.jsonl"), TextFiles.read(FOUR).replace(from, to));
  }

  @Test
  void a_task_that_cannot_fit_says_why() throws IOException {
    Path file = folder.resolve("plans.jsonl");
    assertThat(run(plan(changed(MEMORY, "500000000,")).toArray(new String[0]))).isEqualTo(1);
    JsonNode plan = JSON.readTree(Files.readAllLines(file).get(0));
    assertThat(plan.get("feasible").booleanValue()).isFalse();
    assertThat(plan.get("reason").textValue())
        .startsWith("The tables need 13.6 GiB, and 4 devices");
    assertThat(plan.get("bytes_short").longValue()).isPositive();
  }

  private List<String> plan(Path workloads, String... more) {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "plan",
                "--workloads",
                workloads.toString(),
                "--out",
                folder.resolve("plans.jsonl").toString()));
    arguments.addAll(List.of(more));
    return arguments;
  }

  /** Samples that no training saw; the bounds are what this project promises, models/README.md. */
  @Test
  void the_shipped_model_predicts_as_well_as_its_card_says() throws IOException {
    assertThat(run("evaluate", "--samples", REFERENCE.resolve("valid").toString()))
        .as(err.toString())
        .isZero();
    JsonNode errors = JSON.readTree(out.toString());
    JsonNode compute = error(errors, "compute", "all");
    assertThat(compute.get("mape").doubleValue()).isBetween(0.0001, 0.006);
    assertThat(compute.get("kendall").doubleValue()).isGreaterThan(0.995);
    assertThat(compute.get("p99RelativeError").doubleValue()).isLessThan(0.03);
    assertThat(error(errors, "compute", "no use of rows known").get("mape").doubleValue())
        .isBetween(0.01, 0.12);
    for (String direction : List.of("forward", "backward")) {
      String cost = "all_to_all." + direction;
      assertThat(errors.get("errors"))
          .filteredOn(e -> e.get("cost").textValue().equals(cost))
          .filteredOn(e -> e.get("of").textValue().endsWith(" devices"))
          .hasSize(7)
          .allSatisfy(e -> assertThat(e.get("mape").doubleValue()).isLessThan(0.002));
    }
    assertThat(errors.get("simulated").booleanValue()).isTrue();
    assertThat(error(errors, "compute", "inside the training range").get("samples"))
        .isEqualTo(compute.get("samples"));
    assertThat(errors.get("errors"))
        .noneMatch(e -> e.get("of").textValue().startsWith("outside in "));
  }

  private static JsonNode error(JsonNode evaluated, String cost, String of) {
    for (JsonNode error : evaluated.get("errors")) {
      if (error.get("cost").textValue().equals(cost) && error.get("of").textValue().equals(of)) {
        return error;
      }
    }
    throw new AssertionError("no errors of " + cost + ", " + of);
  }

  @Test
  void a_bundle_is_trained_evaluated_and_refused_when_damaged() throws IOException {
    Path samples = folder.resolve("samples");
    Files.createDirectories(samples);
    // Few: training is tested where it is.
    Files.write(
        samples.resolve("compute.jsonl"),
        TextFiles.read(REFERENCE.resolve("valid/compute.jsonl.gz")).lines().limit(200).toList());
    Files.write(
        samples.resolve("collectives.jsonl"),
        TextFiles.read(REFERENCE.resolve("valid/collectives.jsonl.gz"))
            .lines()
            .filter(line -> line.contains("\"devices\":2,"))
            .toList());
    Path bundle = folder.resolve("bundle.avro");
    int status =
        run(
            "pretrain",
            "--samples",
            samples.toString(),
            "--tables",
            REFERENCE.resolve("tables.jsonl").toString(),
            "--hardware",
            "test-hardware",
            "--simulated",
            "--out",
            bundle.toString());
    assertThat(status).as(err.toString()).isZero();
    assertThat(out.toString())
        .containsPattern("200 compute samples of \\d+ tables; 400 collectives")
        .contains("for test-hardware in " + bundle);
    assertThat(ModelFiles.read(bundle).hardware()).isEqualTo("test-hardware");
    assertThat(
            run(
                "evaluate",
                "--model",
                bundle.toString(),
                "--samples",
                samples.toString(),
                "--tables",
                REFERENCE.resolve("tables.jsonl").toString()))
        .isZero();
    assertThat(out.toString())
        .contains("\"hardware\" : \"test-hardware\"", "\"collectivesFromDataSheet\" : [ ]");

    Path sheet = folder.resolve("sheet.avro");
    ModelFiles.write(
        TestModels.withCollectives(
            TestModels.fromDataSheet(
                TestModels.collective(Collective.ALL_TO_ALL, Direction.FORWARD, 1)),
            TestModels.collective(Collective.ALL_TO_ALL, Direction.BACKWARD, 1)),
        sheet);
    assertThat(
            run(
                "evaluate",
                "--model",
                sheet.toString(),
                "--samples",
                samples.toString(),
                "--tables",
                REFERENCE.resolve("tables.jsonl").toString()))
        .isZero();
    assertThat(out.toString())
        .contains("\"collectivesFromDataSheet\" : [ \"all_to_all.forward\" ]");

    byte[] bytes = Files.readAllBytes(bundle);
    Files.write(bundle, Arrays.copyOf(bytes, bytes.length / 2));
    assertThat(run("evaluate", "--model", bundle.toString(), "--samples", samples.toString()))
        .isEqualTo(2);
    assertThat(err.toString())
        .contains("shardtide: " + bundle + " is not a model that can be used: ")
        .doesNotContain("\tat ");
  }

  /** The table comes before training, which needs more computations than these. */
  @Test
  void links_of_a_folder_are_compared_with_the_data_sheet() throws IOException {
    Path samples = Files.createDirectories(folder.resolve("few"));
    Files.write(
        samples.resolve("compute.jsonl"),
        TextFiles.read(REFERENCE.resolve("valid/compute.jsonl.gz")).lines().limit(2).toList());
    Path nccl = Files.createDirectories(folder.resolve("nccl"));
    Files.writeString(nccl.resolve("run-info.json"), "{\"hardware\":\"h\"}");
    Files.writeString(
        nccl.resolve("collectives.jsonl"),
        """
        {"collective":"all_reduce","devices":8,"devicesPerNode":8,"bytes":4096,"ms":0.01}
        {"collective":"all_reduce","devices":8,"devicesPerNode":8,"bytes":1048576,"ms":0.02}
        {"collective":"all_reduce","devices":8,"devicesPerNode":8,"bytes":134217728,"ms":0.5}
        {"collective":"reduce_scatter","devices":8,"devicesPerNode":8,"bytes":134217728,"ms":0.32}
        """);
    assertThat(train(samples, "h", nccl + ",nic-gbs=48,nvlink-us=30")).isEqualTo(2);
    assertThat(out.toString())
        .contains(
            """
            data sheet: nvlink-gbs=367.0016, nvls-gbs=469.762048, nic-gbs=48.0, nvlink-us=30.0, nic-us=15.0; measured collectives: 4
            The data sheet misses by more than a third:
            collective  devices  per node  missed  worst: bytes  measured ms  data sheet ms
            all_reduce        8         8  2 of 3         4,096       0.0100         0.0300
            """);
    assertThat(err.toString()).contains("at least 100 compute samples");
    assertThat(train(samples, "h", nccl + ",nic-gbs=48")).isEqualTo(2);
    assertThat(out.toString().lines().toList())
        .as("nothing is missed")
        .last(InstanceOfAssertFactories.STRING)
        .contains("nvlink-us=10.0");
    assertThat(train(samples, "h", nccl.toString())).isEqualTo(2);
    assertThat(err.toString())
        .contains(
            "--links: links must have nic-gbs, got {nvlink-gbs=367.0016, nvlink-us=10.0, nvls");
    assertThat(train(samples, "other", nccl + ",nic-gbs=48")).isEqualTo(2);
    assertThat(err.toString())
        .contains("--links: " + nccl.resolve("run-info.json"))
        .contains("must be of the model's hardware, \"other\", got \"h\"");
  }

  private int train(Path samples, String hardware, String links) {
    return run(
        "pretrain",
        "--samples",
        samples.toString(),
        "--tables",
        REFERENCE.resolve("tables.jsonl").toString(),
        "--hardware",
        hardware,
        "--links",
        links,
        "--out",
        folder.resolve("x.avro").toString());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          plan --workloads nowhere.json --out plans.jsonl                                              | 2 | shardtide: nowhere.json does not exist
          plan make --out plans.jsonl                                                                  | 2 | needs -f FILE
          pretrain --samples x --hardware x --out x.avro --seed four                                   | 2 | Invalid value for option '--seed'
          evaluate --samples REFERENCE/valid --model REFERENCE/README.md                                           | 2 | REFERENCE/README.md is not a model that can be used
          evaluate --samples REFERENCE/nowhere                                                               | 2 | REFERENCE/nowhere: not a folder
          pretrain --samples REFERENCE/tasks --hardware x --out x.avro                                       | 2 | REFERENCE/tasks: no samples
          pretrain --samples REFERENCE/valid --hardware x --out x.avro --from REFERENCE/README.md                | 2 | REFERENCE/README.md is not a model that can be used
          pretrain --samples x --hardware x --out x.avro --from ./x.avro                                   | 2 | shardtide: --out must be another file than --from, got x.avro
          pretrain --samples x --hardware x --out x.avro --links nvlink-gbs=fast,nic-gbs=48                | 2 | 'fast' is not a double
          pretrain --samples x --hardware x --out x.avro --links nvlink-gbs=0,nic-gbs=48                   | 2 | shardtide: --links: nvlink-gbs must be a finite number above 0, got 0.0
          pretrain --samples x --hardware x --out x.avro --links nvlink-gbs=370,nic=48                     | 2 | shardtide: --links: links have no nic (its value is 48.0); expected nvlink-gbs, nvls-gbs, nic-gbs, nvlink-us, nic-us, small-gbs, bulk-us, host-gbs
          pretrain --samples x --hardware x --out x.avro --links nvlink-gbs=370,nic-gbs                     | 2 | nic-gbs: not a folder
          pretrain --samples x --hardware x --out x.avro --links nvlink-gbs=370                            | 2 | shardtide: --links: links must have nic-gbs, got {nvlink-gbs=370.0}
          fly                                                                                          | 2 | shardtide: there is no command "fly"
          """)
  void errors_name_the_problem(String command, int status, String message) {
    String[] args = command.strip().replace("REFERENCE", REFERENCE.toString()).split(" +", -1);
    assertThat(run(args)).isEqualTo(status);
    assertThat(err.toString())
        .contains(message.strip().replace("REFERENCE", REFERENCE.toString()))
        .doesNotContain("\tat ");
  }

  @Test
  void a_settings_file_is_rejected_with_all_problems() throws IOException {
    Path file = Files.writeString(folder.resolve("a.properties"), "threads=0\nmodel=x\n");
    assertThat(run("run", "--config", file.toString())).isEqualTo(2);
    assertThat(err.toString())
        .startsWith("shardtide: " + file + " has 5 problems:\n")
        .contains(
            "\n  bootstrap.servers is missing; it must be host:port",
            "\n  schema.registry.url is missing; ",
            "\n  state.directory is missing; ",
            "\n  threads must be 1 to 256 threads, got \"0\".",
            "\n  model is not a setting (its value is \"x\"). Maybe models.");
    assertThat(run("run", "--config", "nowhere.properties")).isEqualTo(2);
    assertThat(err.toString()).contains("shardtide: nowhere.properties does not exist");
    assertThat(run("run")).isEqualTo(2);
    assertThat(run("run", "--example")).isZero();
    assertThat(out.toString()).contains("\nbootstrap.servers=", "\n#threads=1\n");
  }

  @Test
  void the_demo_does_not_write_over_an_export() throws IOException {
    Path events = Files.writeString(folder.resolve("events.jsonl"), "recorded\n");
    assertThat(run("demo", "--out", folder.toString())).isEqualTo(2);
    assertThat(err.toString())
        .contains("--out must be a folder without events.jsonl, unless")
        .contains("got " + folder);
    assertThat(events).hasContent("recorded\n");
  }

  @Test
  void two_outputs_are_two_files() {
    assertThat(run("demo", "--out", folder.toString(), "--data", folder.toString())).isEqualTo(2);
    assertThat(err.toString()).contains("must be another file than --", "got " + folder);
  }

  @Test
  void a_stack_trace_is_printed_on_request() {
    assertThat(run("evaluate", "--samples", "nowhere", "--stacktrace")).isEqualTo(2);
    assertThat(err.toString()).contains("shardtide: nowhere").contains("\tat ");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          paln                  | there is no command "paln". Maybe plan. | shardtide
          fly                   | there is no command "fly"               | shardtide
          plan evaluate -f w --out o --plan p | there is no option --plan. Maybe --plans. | shardtide plan evaluate
          bench latnecy         | there is no command "latnecy". Maybe latency. | shardtide bench
          pool list all         | unexpected argument "all"               | shardtide pool list
          run                   | Missing required argument (specify one of these): (--config=FILE or --example) | shardtide run
          """)
  void a_usage_error_is_one_line_and_the_way_to_the_help(
      String command, String problem, String helped) {
    assertThat(run(command.split(" ", -1))).isEqualTo(2);
    assertThat(err.toString().replace(" | ", " or "))
        .isEqualTo("shardtide: %s%nRun \"%s --help\" for its usage.%n".formatted(problem, helped));
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void help_and_version_are_printed() {
    assertThat(run("--help")).isZero();
    assertThat(out.toString()).contains("demo", "plan", "workload", "rights", "completion");
    assertThat(run("demo", "--help")).isZero();
    assertThat(out.toString()).contains("--seconds", "--out", "--data");
  }

  /** The version and, in a checkout, the commit. */
  @ParameterizedTest
  @ValueSource(strings = {"--version", "plan -V", "bench latency -V"})
  void each_command_prints_the_version(String command) {
    assertThat(run(command.split(" ", -1))).isZero();
    assertThat(out.toString())
        .matches(
            "shardtide \\d+\\.\\d+\\.\\d+(-SNAPSHOT)?( \\(commit [0-9a-f]{7,}\\))?\\RJava 1[\\s\\S]*");
  }

  /** Commands are found by the names of their classes. */
  @Test
  void each_command_is_listed_under_its_name() throws IOException {
    String room = "src/main/java/io/shardtide/cli";
    try (Stream<Path> product = Files.list(Path.of("src/cli", room));
        Stream<Path> checkout = Files.list(Path.of("src/bench", room))) {
      assertThat(Stream.concat(product, checkout).map(file -> file.getFileName().toString()))
          .filteredOn(file -> file.endsWith("Command.java"))
          .map(file -> file.replace("Command.java", "").toLowerCase(Locale.ROOT))
          .containsExactlyInAnyOrderElementsOf(Commands.NAMES);
    }
    assertThat(Commands.NAMES)
        .allSatisfy(
            name ->
                assertThat(
                        Commands.type(name)
                            .orElseThrow()
                            .getAnnotation(CommandLine.Command.class)
                            .name())
                    .isEqualTo(name));
  }

  @Test
  void plan_names_simulated_costs_and_what_is_outside_the_training_range() throws IOException {
    assertThat(run(plan(changed("65536,", "8192,")).toArray(new String[0]))).isZero();
    assertThat(out.toString()).contains("trained on simulated costs");
    assertThat(err.toString())
        .contains(
            "outside the cost model's training range",
            "cluster with samples_per_batch of 8192 (trained: 65536 to 65536)");
  }

  @Test
  void plan_fails_if_no_task_fits() throws IOException {
    assertThat(run(plan(changed(MEMORY, "1000000,")).toArray(new String[0]))).isEqualTo(1);
    assertThat(out.toString()).startsWith("0 of 6 tasks planned");
  }
}
