package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.shardtide.files.TextFiles;
import io.shardtide.testing.Samples;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Wrong inputs of a new user, each with one line that says what to do and the right exit status. A
 * dead broker is in {@code DeadClusterIT}, a missing right in {@code SecureRunIT}, a planner's full
 * disk in {@code FullDiskIT}.
 */
class BadInputTest {
  private static final Path REFERENCE = Path.of("src/models/src/test/resources/reference");
  private static final String CLUSTER = "--bootstrap 127.0.0.1:9 --registry http://127.0.0.1:9 ";

  @TempDir private Path folder;
  private String err = "";

  /** Runs a command and returns its status; the lines of standard error are in {@link #err}. */
  private int run(String command) {
    StringWriter printed = new StringWriter();
    int status =
        Shardtide.run(
            new PrintWriter(new StringWriter()), new PrintWriter(printed), command.split(" +", -1));
    err = printed.toString();
    assertThat(err).doesNotContain("\tat ");
    return status;
  }

  private void assertOneLine(String... parts) {
    assertThat(err.lines().filter(line -> !line.startsWith("shardtide: warning:")))
        .singleElement()
        .asString()
        .startsWith("shardtide: ")
        .contains(parts);
  }

  private String plan(String from, String to) throws IOException {
    Path workloads =
        Files.writeString(
            folder.resolve("tasks.jsonl"),
            TextFiles.read(REFERENCE.resolve("tasks/4gpu_dim4.jsonl.gz")).replace(from, to));
    return "plan --workloads %s --out %s".formatted(workloads, folder.resolve("plans.jsonl"));
  }

  @Test
  void an_infeasible_plan() throws IOException {
    assertThat(run(plan("4294967296", "1000000"))).isEqualTo(1);
    assertOneLine("none of 6 tasks fits; the first: ");
  }

  @Test
  void a_table_of_63_columns() {
    assertThat(
            run(
                "publish "
                    + CLUSTER
                    + "--workload w --upsert name=a,rows=10,columns=63,poolingFactor=1"))
        .isEqualTo(2);
    assertOneLine("columns of table \"a\"", "got 63");
  }

  @Test
  void a_resize_without_rows() {
    assertThat(run("publish " + CLUSTER + "--workload w --resize a")).isEqualTo(2);
    assertOneLine("a resize must be NAME=ROWS, such as user=2000000, got \"a\"");
  }

  @Test
  void a_resize_of_no_table() {
    assertThat(run("table resize w " + CLUSTER + "--reason full")).isEqualTo(2);
    assertThat(err).startsWith("shardtide: table resize needs TABLE=ROWS");
  }

  @Test
  void hardware_without_a_model() throws IOException {
    Path workloads =
        Files.writeString(
            folder.resolve("workloads.jsonl"),
            String.format(
                Locale.ROOT,
                "{\"task\":\"t\",\"cluster\":{\"devices\":8,\"devicesPerNode\":8,\"memoryBytesPerDevice\":%d,\"batchSize\":65536,\"hardware\":\"h100\"},\"tables\":[{\"name\":\"a\",\"rows\":1000,\"columns\":64,\"poolingFactor\":5.0,\"optimizerBytesPerRow\":4}]}%n",
                24L << 30));
    assertThat(run("plan --workloads " + workloads + " --out " + folder.resolve("plans.jsonl")))
        .isEqualTo(2);
    assertOneLine(
        "workloads.jsonl line 1: ", "hardware of a cluster must be that of", "got \"h100\"");
  }

  @Test
  void a_wrong_batch_size() throws IOException {
    assertThat(run(plan("65536", "0"))).isEqualTo(2);
    assertOneLine("samples per batch of a cluster must be between 1 and ", "got 0");
  }

  @Test
  void a_typo_in_a_command() {
    assertThat(run("docter --config a.properties")).isEqualTo(2);
    assertThat(err.lines())
        .containsExactly(
            "shardtide: there is no command \"docter\". Maybe doctor.",
            "Run \"shardtide --help\" for its usage.");
  }

  @Test
  void a_settings_file_with_three_errors() throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("a.properties"),
            """
            bootstrap.servers=kafka
            schema.registry.url=http://registry:8081
            state.directory=state
            threads=0
            topic.prefix=x.
            """);
    for (String command : List.of("run", "doctor")) {
      assertThat(run(command + " --config " + file)).isEqualTo(2);
      assertThat(err.lines())
          .as("a line for each problem")
          .hasSize(4)
          .first()
          .isEqualTo("shardtide: " + file + " has 3 problems:");
      assertThat(err).contains("\"kafka\"", "threads must be 1 to 256", "Maybe topics.prefix.");
    }
  }

  @Test
  void a_model_of_a_newer_format() throws IOException {
    byte[] bytes = Files.readAllBytes(Path.of("models/simulated.avro"));
    String key = "shardtide.format.major";
    int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf(key) + key.length() + 1;
    assertThat(bytes[at]).isEqualTo((byte) '2');
    bytes[at] = '3';
    Path model = Files.write(folder.resolve("newer.avro"), bytes);
    assertThat(run("evaluate --samples %s --model %s".formatted(REFERENCE.resolve("valid"), model)))
        .isEqualTo(2);
    assertOneLine("newer.avro", "it has bundle format 3, and this version reads 2");
  }

  /** Each file that a command reads; a name with a replaced letter would be another name. */
  @Test
  void files_that_are_not_utf8() throws IOException {
    Path latin1 =
        Files.write(
            folder.resolve("events.jsonl"),
            "\n{\"caf\u00e9\"".getBytes(StandardCharsets.ISO_8859_1));
    Path workloads =
        Files.writeString(
            folder.resolve("workloads.jsonl"),
            "{\"task\":\"t\",\"cluster\":{\"devices\":2,\"memoryBytesPerDevice\":1000000,\"batchSize\":64,\"hardware\":\"simulated\"},\"tables\":[{\"name\":\"a\",\"rows\":10,\"columns\":4,\"poolingFactor\":1}]}");
    String out = " --out " + folder.resolve("out.jsonl");
    for (String command :
        List.of(
            "publish " + CLUSTER + "--events " + latin1,
            "plan --workloads " + latin1 + out,
            "evaluate --samples %s --tables %s".formatted(REFERENCE.resolve("valid"), latin1),
            "plan --workloads %s --predict %s".formatted(workloads, latin1) + out,
            "replay --events " + latin1 + out,
            "pools set p " + CLUSTER + "--file " + latin1,
            "run --config " + latin1,
            "doctor --config " + latin1)) {
      assertThat(run(command)).as(command).isBetween(1, 2);
      assertThat(err)
          .as(command)
          .contains(latin1.toString(), "ine 2: text must be UTF-8, got byte 0xe9");
    }
  }

  /** A rejection ends with 1: a script tells a wrong call from it. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "publish CLUSTER --workload w --upsert name=a,rows=many,columns=64,poolingFactor=1",
        "publish CLUSTER --workload w --cluster devices=8,memoryGib=24,batchSize=65536",
        "publish CLUSTER --events nowhere.jsonl",
        "publish CLUSTER --events README.md",
        "pools set p CLUSTER --devices-per-node 8 --memory-gib 80 --hardware h --rack n1,n2",
        "pools set p CLUSTER --file nowhere.json",
        "forecasts CLUSTER --growth 1001",
        "watch CLUSTER --kafka-config nowhere.properties",
        "plan --workloads nowhere.jsonl --out DIR/out",
        "plan --workloads README.md --out DIR/out",
        "pretrain --samples src/models/src/test/resources/reference/valid --tables nowhere --hardware h --out DIR/out",
        "evaluate --samples nowhere",
        "evaluate --samples src/models/src/test/resources/reference/valid --model README.md",
        "pretrain --samples nowhere --hardware h --out DIR/out",
        "replay --events nowhere.jsonl --out DIR/out",
        "replay --events docs --out DIR/out",
        "why --events nowhere.jsonl --workload w",
        "why CLUSTER --plan x-ray"
      })
  void a_wrong_value_is_a_wrong_call(String command) {
    assertThat(run(command.replace("CLUSTER", CLUSTER.strip()).replace("DIR", folder.toString())))
        .as(err)
        .isEqualTo(2);
    assertOneLine("shardtide: ");
    assertThat(folder).isEmptyDirectory();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"publish --workload w --drop a", "watch --once", "why --plan 00", "models list"})
  void a_value_that_kafka_does_not_take_is_a_wrong_call(String command) throws IOException {
    Path file = Files.writeString(folder.resolve("k.properties"), "security.protocol=NONE\n");
    assertThat(run(command + " " + CLUSTER + "--timeout 1 --kafka-config " + file))
        .as(err)
        .isEqualTo(2);
    assertOneLine("security.protocol");
  }

  /** What is right and does not succeed, of a cluster that does not answer, ends with 1. */
  @Test
  void a_cluster_that_does_not_answer_is_no_wrong_call() {
    assertThat(run("publish " + CLUSTER + "--timeout 1 --workload w --drop a")).isEqualTo(1);
    assertOneLine("127.0.0.1:9 did not answer");
  }

  @Test
  @Timeout(60)
  void events_from_a_pipe_are_read_once() throws Exception {
    Path pipe = folder.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    String event = new JsonLines<>(Codec.WORKLOAD_CHANGE).write(Samples.change());
    CompletableFuture<Path> written =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return Files.writeString(pipe, event + "\n");
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });
    assertThat(run("publish " + CLUSTER + "--timeout 1 --events " + pipe)).isEqualTo(1);
    assertOneLine("127.0.0.1:9 did not answer");
    assertThat(written).isCompleted();
  }

  @Test
  void marks_of_styles_and_control_characters_are_data() {
    assertThat(run("plan --workloads @|red,x|@ --out " + folder.resolve("out"))).isEqualTo(2);
    assertOneLine("@|red,x|@ does not exist");
    assertThat(run("@|x,y|@")).isEqualTo(2);
    assertThat(err).startsWith("shardtide: there is no command \"@|x,y|@\"");
    assertThat(run("plan --workloads a\u001b[31mb --out " + folder.resolve("out"))).isEqualTo(2);
    assertOneLine("a\uFFFD[31mb does not exist");
  }

  @Test
  void a_full_disk() throws IOException {
    assumeThat(Path.of("/dev/full")).exists();
    assertThat(run(plan("", "").replaceFirst("--out \\S+", "--out /dev/full"))).isEqualTo(1);
    assertOneLine("/dev/full cannot be written: No space left on device");
  }
}
