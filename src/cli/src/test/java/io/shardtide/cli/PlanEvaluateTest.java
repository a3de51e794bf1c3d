package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.offset;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code plan evaluate}, on what {@code plan make} writes. */
class PlanEvaluateTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Two nodes of two devices; what suits each table best differs. */
  private static final String MIXED =
      workload(
          "mixed",
          4,
          2,
          40L << 30,
          "simulated-8xh100",
          table("rows", 20_000_000, 4, 500)
              + ","
              + table("wide", 50_000_000, 128, 40)
              + ","
              + table("small", 100, 64, 1));

  /** Hot rows of unpooled tables whose use is known. */
  private static final String HOT =
      workload(
          "hot",
          16,
          8,
          40L << 30,
          "simulated-8xh100",
          table("u", 50_000_000, 128, 60)
              .replace(
                  "}",
                  ",\"pooled\":false,\"accessCdf\":[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.75,0.8,0.85,0.9,0.95,0.98,1]}"));

  private static final String HOT_ROWS =
      "\"kind\":\"data_parallel\",\"column_offset\":0,\"columns\":128,\"row_offset\":0,\"rows\":\\d{3,7},";

  private static final String CACHED =
      workload("cached", 2, 2, 1L << 30, "simulated-8xh100", table("c", 10_000_000, 64, 1))
          .replace("\"batchSize\"", "\"hostMemoryBytesPerDevice\":107374182400,\"batchSize\"");

  private static final String ONE =
      workload("one", 1, 1, 1L << 30, "simulated-8xh100", table("a", 1000, 8, 1));

  @TempDir private Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private static String workload(
      String task, int devices, int perNode, long memory, String hardware, String tables) {
    return "{\"task\":\"%s\",\"cluster\":{\"devices\":%d,\"devicesPerNode\":%d,\"memoryBytesPerDevice\":%d,\"batchSize\":65536,\"hardware\":\"%s\"},\"tables\":[%s]}"
        .formatted(task, devices, perNode, memory, hardware, tables);
  }

  private static String table(String name, long rows, int columns, int pooling) {
    return "{\"name\":\"%s\",\"rows\":%d,\"columns\":%d,\"poolingFactor\":%d}"
        .formatted(name, rows, columns, pooling);
  }

  private Path write(String name, List<String> lines) throws IOException {
    return Files.write(folder.resolve(name), lines);
  }

  private int run(Path workloads, String to, String... more) {
    List<String> args =
        new ArrayList<>(
            List.of(
                "plan",
                "--workloads",
                workloads.toString(),
                "--out",
                folder.resolve(to).toString()));
    args.addAll(List.of(more));
    return Shardtide.run(new PrintWriter(out), new PrintWriter(err), args.toArray(new String[0]));
  }

  private JsonNode line(String file, int number) throws IOException {
    return JSON.readTree(Files.readAllLines(folder.resolve(file)).get(number));
  }

  @Test
  void a_plan_is_predicted_as_it_was_planned() throws IOException {
    Path workloads = write("workloads.jsonl", List.of(MIXED, ONE, HOT, CACHED));
    assertThat(run(workloads, "planned")).as(err.toString()).isZero();
    String planned = folder.resolve("planned").toString();
    assertThat(run(workloads, "predicted", "--predict", planned)).as(err.toString()).isZero();
    assertThat(out.toString()).contains("4 plans predicted, 4 fit into memory; on average");
    String all = Files.readString(folder.resolve("planned"));
    assertThat(all).containsAnyOf("row_wise", "table_row_wise", "grid_shard");
    assertThat(all).contains("data_parallel", "\"cache_share\":0.").containsPattern(HOT_ROWS);
    for (int i = 0; i < 4; i++) {
      JsonNode plan = line("planned", i);
      JsonNode predicted = line("predicted", i);
      assertThat(predicted.fieldNames())
          .toIterable()
          .containsExactly("task", "feasible", "predicted_ms", "world_size", "tables");
      assertThat(predicted.get("task")).isEqualTo(plan.get("task"));
      assertThat(predicted.get("feasible").booleanValue()).isTrue();
      double plannedMs = plan.get("predicted_ms").doubleValue();
      assertThat(predicted.get("predicted_ms").doubleValue())
          .isCloseTo(plannedMs, offset(1e-4 * plannedMs));
      assertThat(predicted.get("tables")).isEqualTo(plan.get("tables"));
    }
  }

  @Test
  void a_line_says_which_cluster_it_is_for() throws IOException {
    String unequal =
        ONE.replaceFirst(
            "\"devices\"",
            "\"reservedMemoryBytesPerDevice\":1024,\"memoryBytesByDevice\":[{\"device\":0,\"bytes\":1048576}],\"devices\"");
    Path workloads = write("workloads.jsonl", List.of(ONE, unequal));
    assertThat(run(workloads, "planned")).as(err.toString()).isZero();
    JsonNode equal = line("planned", 0);
    assertThat(equal.get("hardware").textValue()).isEqualTo("simulated-8xh100");
    assertThat(equal.get("memory_bytes_per_device").longValue()).isEqualTo(1L << 30);
    assertThat(equal.has("memory_bytes_by_device")).isFalse();
    JsonNode other = line("planned", 1);
    assertThat(other.get("memory_bytes_per_device").longValue()).isEqualTo((1L << 30) - 1024);
    assertThat(other.get("memory_bytes_by_device").toString())
        .isEqualTo("[{\"device\":0,\"bytes\":1047552}]");
  }

  /** test_memory.py measures what training under these plans allocates. */
  @Test
  void memory_of_a_step_is_what_measurements_were_compared_with() throws IOException {
    Path files = Path.of("src/cli/src/test/resources/torchrec/memory");
    assertThat(
            run(
                files.resolve("workloads.jsonl"),
                "predicted",
                "--predict",
                files.resolve("plans.jsonl").toString()))
        .as(err.toString())
        .isZero();
    List<String> plans = Files.readAllLines(files.resolve("plans.jsonl"));
    assertThat(plans).hasSize(15);
    for (int i = 0; i < plans.size(); i++) {
      assertThat(line("predicted", i).get("memory_bytes"))
          .isEqualTo(JSON.readTree(plans.get(i)).get("memory_bytes"));
    }
    assertThat(run(write("w", List.of(ONE)), "unnamed")).as(err.toString()).isZero();
    assertThat(line("unnamed", 0).has("memory_bytes")).as("without a pipeline").isFalse();
  }

  @Test
  void a_plan_that_is_too_large_says_so() throws IOException {
    String tables = table("a", 1_000_000, 64, 1);
    Path workloads =
        write("w", List.of(workload("w", 2, 2, 100_000_000, "simulated-8xh100", tables)));
    Path plan =
        write(
            "p",
            List.of(
                "{\"world_size\":2,\"tables\":[{\"name\":\"a\",\"shards\":[{\"kind\":\"table_wise\",\"device\":1}]}]}"));
    assertThat(run(workloads, "o", "--predict", plan.toString())).as(err.toString()).isZero();
    JsonNode line = line("o", 0);
    assertThat(line.get("feasible").booleanValue()).isFalse();
    assertThat(line.get("predicted_ms").doubleValue()).isPositive();
    assertThat(line.get("reason").textValue())
        .isEqualTo("Device 1 needs 256000000 bytes, and has 100000000 usable");
    assertThat(line.get("bytes_short").longValue()).isEqualTo(156_000_000);
  }

  /** The device that lacks most is not the fullest one. */
  @Test
  void each_device_has_its_own_memory() throws IOException {
    String two =
        workload(
                "w",
                4,
                4,
                300_000_000,
                "simulated-8xh100",
                table("a", 1_000_000, 64, 1) + "," + table("b", 900_000, 64, 1))
            .replace(
                "\"batchSize\"",
                "\"memoryBytesByDevice\":[{\"device\":1,\"bytes\":100000000}],\"devicesPerHost\":2,\"batchSize\"");
    Path workloads = write("w", List.of(two));
    Path plan =
        write(
            "p",
            List.of(
                "{\"world_size\":4,\"tables\":[{\"name\":\"a\",\"shards\":[{\"kind\":\"table_wise\",\"device\":2}]},"
                    + "{\"name\":\"b\",\"shards\":[{\"kind\":\"table_wise\",\"device\":1}]}]}"));
    assertThat(run(workloads, "o", "--predict", plan.toString())).as(err.toString()).isZero();
    assertThat(line("o", 0).get("reason").textValue())
        .isEqualTo("Device 1 needs 230400000 bytes, and has 100000000 usable");
    assertThat(run(workloads, "q")).as(err.toString()).isZero();
    assertThat(run(workloads, "r", "--predict", folder.resolve("q").toString())).isZero();
    assertThat(line("r", 0).get("feasible").booleanValue()).isTrue();
  }

  @Test
  void plans_of_other_workloads_are_refused() throws IOException {
    Path workloads = write("w", List.of(ONE));
    assertThat(run(workloads, "p")).as(err.toString()).isZero();
    String plan = Files.readString(folder.resolve("p")).strip();
    check(workloads, List.of(plan, plan), " line 2: there must be a plan for each of the 1 wor");
    check(workloads, List.of(), ": there must be a plan for each of the 1 workloads, got 0");
    check(
        workloads,
        List.of(plan.replace("\"one\"", "\"two\"")),
        " line 1: task must be \"one\", that of the same line of the workloads, got \"two\"");
    check(
        write("x", List.of(MIXED)),
        List.of(plan.replace("\"one\"", "\"mixed\"")),
        " line 1: world_size must be 4, the devices of the cluster, got 1");
    Path limited =
        write("y", List.of(workload("one", 1, 1, 1L << 30, "simulated", table("a", 1000, 8, 1))));
    check(
        limited,
        List.of(
            "{\"world_size\":1,\"tables\":[{\"name\":\"a\",\"shards\":[{\"kind\":\"data_parallel\"}]}]}"),
        " line 1: Table \"a\" is data_parallel; model ");
    check(
        workloads,
        List.of("{\"world_size\":1,\"plan\":{}}"),
        " line 1: a plan must have tables, got one of TorchRec; shardtide-py convert");
  }

  private void check(Path workloads, List<String> plans, String message) throws IOException {
    Path file = write("plans", plans);
    assertThat(run(workloads, "o", "--predict", file.toString())).isEqualTo(2);
    assertThat(err.toString()).contains(file + message);
    assertThat(folder.resolve("o")).doesNotExist();
  }
}
