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
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code plan --workloads} to TorchRec and back. */
class PlanTorchRecTest {
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
  void a_plan_that_torchrec_runs_is_predicted_as_it_was_planned() throws IOException {
    Path workloads = write("workloads.jsonl", List.of(MIXED, ONE));
    assertThat(run(workloads, "planned")).as(err.toString()).isZero();
    assertThat(run(workloads, "torchrec", "--format", "torchrec")).as(err.toString()).isZero();
    String exported = folder.resolve("torchrec").toString();
    assertThat(run(workloads, "predicted", "--predict", exported)).as(err.toString()).isZero();
    assertThat(out.toString()).contains("2 plans predicted, 2 fit into memory; on average");
    TreeSet<String> types = new TreeSet<>();
    for (int i = 0; i < 2; i++) {
      JsonNode planned = line("planned", i);
      JsonNode predicted = line("predicted", i);
      assertThat(predicted.fieldNames())
          .toIterable()
          .containsExactly("task", "feasible", "predicted_ms", "world_size", "tables");
      assertThat(predicted.get("task")).isEqualTo(planned.get("task"));
      assertThat(predicted.get("feasible").booleanValue()).isTrue();
      double plannedMs = planned.get("predicted_ms").doubleValue();
      assertThat(predicted.get("predicted_ms").doubleValue())
          .isCloseTo(plannedMs, offset(1e-4 * plannedMs));
      assertThat(predicted.get("tables")).isEqualTo(planned.get("tables"));
      line("torchrec", i)
          .at("/plan/model.sparse_arch.embedding_bag_collection")
          .forEach(table -> types.add(table.get("sharding_type").textValue()));
    }
    assertThat(types).as("plans that have more to them than columns").contains("data_parallel");
    assertThat(types).containsAnyOf("row_wise", "table_row_wise", "grid_shard");
    assertThat(line("torchrec", 0).toString())
        .as("the cluster's devices per node")
        .contains("rank:3/cuda:1");
  }

  /**
   * TorchRec shards the collections of such tables by other rules; plans of other formats are made.
   */
  @Test
  void a_hashed_table_is_refused_by_name() throws IOException {
    String hashed = table("ids", 1_000, 64, 1).replace("}", ",\"storage\":{}}");
    Path workloads = write("w", List.of(workload("w", 2, 2, 1L << 30, "simulated-8xh100", hashed)));
    assertThat(run(workloads, "o", "--format", "torchrec")).isNotZero();
    assertThat(err.toString())
        .contains("Table \"ids\" is hashed")
        .contains("must have a fixed number of rows");
    assertThat(run(workloads, "o")).as(err.toString()).isZero();
  }

  /** TorchRec's int8 is an error where rows are split; python's test_torchrec_limits.py runs it. */
  @Test
  void a_codec_that_torchrec_cannot_send_for_a_kind_is_left_out_unless_the_kind_is_excluded()
      throws IOException {
    String codecs =
        "\"codecs\":[{\"name\":\"int8\",\"bytesPerElement\":1},{\"name\":\"top10\",\"bytesPerElement\":0.8}],\"devices\"";
    String any = MIXED.replaceFirst("\"devices\"", codecs);
    String columns =
        any.replace(
            "\"poolingFactor\"",
            "\"constraints\":{\"kinds\":[\"table_wise\",\"column_wise\"]},\"poolingFactor\"");
    String odd = columns.replace("65536", "65540");
    Path workloads = write("workloads.jsonl", List.of(any, columns, odd));
    assertThat(run(workloads, "ours")).as(err.toString()).isZero();
    assertThat(line("ours", 0).get("codecs").toString()).contains("\"codec\":\"top10\"");
    assertThat(err.toString()).doesNotContain("codec");
    assertThat(run(workloads, "theirs", "--format", "torchrec")).as(err.toString()).isZero();
    assertThat(line("theirs", 0).has("qcomms")).isFalse();
    assertThat(line("theirs", 1).get("qcomms").toString())
        .isEqualTo("{\"device\":{\"forward\":\"int8\",\"backward\":\"int8\"}}");
    assertThat(line("theirs", 2).has("qcomms")).isFalse();
    assertThat(err.toString())
        .contains(
            "shardtide: warning: mixed: codec int8 is left out: TorchRec does not send it on cuda for row_wise, table_row_wise, grid_shard tables, which table rows may be; must be excluded by its kinds")
        .contains(
            "codec top10 is left out: TorchRec has no such codec; must be one of fp32, fp16, bf16, fp8, int8, mx4")
        .contains(
            "TorchRec sends it in blocks of 32 numbers; samples of a device times columns of a part of table rows must be a multiple");
  }

  @Test
  void a_line_says_which_cluster_it_is_for() throws IOException {
    String unequal =
        ONE.replaceFirst(
            "\"devices\"",
            "\"reservedMemoryBytesPerDevice\":1024,\"memoryBytesByDevice\":[{\"device\":0,\"bytes\":1048576}],\"devices\"");
    Path workloads = write("workloads.jsonl", List.of(ONE, unequal));
    for (String[] format : List.of(new String[] {}, new String[] {"--format", "torchrec"})) {
      assertThat(run(workloads, "planned", format)).as(err.toString()).isZero();
      JsonNode equal = line("planned", 0);
      assertThat(equal.get("hardware").textValue()).isEqualTo("simulated-8xh100");
      assertThat(equal.get("memory_bytes_per_device").longValue()).isEqualTo(1L << 30);
      assertThat(equal.has("memory_bytes_by_device")).isFalse();
      JsonNode other = line("planned", 1);
      assertThat(other.get("memory_bytes_per_device").longValue()).isEqualTo((1L << 30) - 1024);
      assertThat(other.get("memory_bytes_by_device").toString())
          .isEqualTo("[{\"device\":0,\"bytes\":1047552}]");
    }
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
                "{\"world_size\":2,\"plan\":{\"m\":{\"a\":{\"sharding_type\":\"table_wise\",\"compute_kernel\":\"fused\",\"ranks\":[1],\"shards\":[{\"shard_offsets\":[0,0],\"shard_sizes\":[1000000,64],\"placement\":\"rank:1/cpu\"}]}}}}"));
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
                "{\"world_size\":4,\"plan\":{\"m\":{\"a\":{\"sharding_type\":\"table_wise\",\"compute_kernel\":\"fused\",\"ranks\":[2],\"shards\":[{\"shard_offsets\":[0,0],\"shard_sizes\":[1000000,64],\"placement\":\"rank:2/cuda:0\"}]},"
                    + "\"b\":{\"sharding_type\":\"table_wise\",\"compute_kernel\":\"fused\",\"ranks\":[1],\"shards\":[{\"shard_offsets\":[0,0],\"shard_sizes\":[900000,64],\"placement\":\"rank:1/cuda:1\"}]}}}}"));
    assertThat(run(workloads, "o", "--predict", plan.toString())).as(err.toString()).isZero();
    assertThat(line("o", 0).get("reason").textValue())
        .isEqualTo("Device 1 needs 230400000 bytes, and has 100000000 usable");
    assertThat(run(workloads, "q", "--format", "torchrec")).as(err.toString()).isZero();
    JsonNode planned = line("q", 0).at("/plan/model.sparse_arch.embedding_bag_collection");
    for (JsonNode table : planned) {
      for (JsonNode shard : table.path("shards")) {
        assertThat(shard.get("placement").textValue())
            .matches("rank:(0/cuda:0|1/cuda:1|2/cuda:0|3/cuda:1)");
      }
    }
    assertThat(run(workloads, "r", "--predict", folder.resolve("q").toString())).isZero();
    assertThat(line("r", 0).get("feasible").booleanValue()).isTrue();
  }

  /** It does not fit either, which only a search finds out. */
  @Test
  void a_table_that_torchrec_cannot_name_is_an_error_before_planning() throws IOException {
    String dotted = table("a.b", 1_000_000, 64, 1);
    Path workloads = write("w", List.of(ONE, workload("w", 2, 2, 1_000, "simulated", dotted)));
    assertThat(run(workloads, "o", "--format", "torchrec")).isEqualTo(2);
    assertThat(err.toString())
        .contains(
            workloads + " line 2: Table \"a.b\" must not have a dot in its name, since Torch");
    assertThat(folder.resolve("o")).doesNotExist();
    assertThat(run(workloads, "o")).as("another format").isZero();
  }

  @Test
  void each_table_is_in_its_module_and_the_plan_is_read_again() throws IOException {
    String tables = table("a", 1000, 8, 1) + "," + table("b", 10, 4, 1);
    Path workloads = write("w", List.of(workload("w", 1, 1, 1L << 30, "simulated-8xh100", tables)));
    String[] modules = {"--format", "torchrec", "--module", "m.x=a", "--module", "m.y=b"};
    assertThat(run(workloads, "p", modules)).as(err.toString()).isZero();
    JsonNode plan = line("p", 0).get("plan");
    assertThat(plan.properties())
        .extracting(module -> module.getKey() + " " + module.getValue().properties().size())
        .containsExactly("m.x 1", "m.y 1");
    assertThat(run(workloads, "q", "--predict", folder.resolve("p").toString()))
        .as(err.toString())
        .isZero();
    assertThat(run(workloads, "o", "--format", "torchrec", "--module", "m.x=a")).isEqualTo(2);
    assertThat(err.toString())
        .contains(workloads + " line 1: Table \"b\" has no module path; modules must have one");
    assertThat(folder.resolve("o")).doesNotExist();
  }

  @Test
  void unpooled_tables_have_what_an_embedding_collection_can_do() throws IOException {
    String wide = unpooled("wide", 4_000_000, 128, "[]");
    String whole = unpooled("whole", 1000, 128, "[\"table_wise\"]");
    String pooled =
        table("pooled", 1000, 128, 1)
            .replace("}", ",\"constraints\":{\"kinds\":[\"table_wise\"]}}");
    String tables = String.join(",", wide, whole, pooled);
    Path workloads = write("w", List.of(workload("w", 4, 2, 2L << 30, "simulated", tables)));
    String[] options = {
      "--format", "torchrec", "--reshardable", "--module", "s=wide,whole", "--module", "p=pooled"
    };
    assertThat(run(workloads, "p", options)).as(err.toString()).isZero();
    JsonNode plan = line("p", 0).get("plan");
    assertThat(plan.at("/s/whole/sharding_type").textValue()).isEqualTo("table_wise");
    assertThat(plan.at("/p/pooled/sharding_type").textValue()).isEqualTo("column_wise");
    JsonNode cut = plan.at("/s/wide");
    assertThat(cut.get("sharding_type").textValue()).isEqualTo("column_wise");
    assertThat(cut.get("shards"))
        .extracting(shard -> shard.at("/shard_sizes/1").intValue())
        .containsExactly(64, 64);
    assertThat(
            run(
                write(
                    "x",
                    List.of(
                        workload(
                            "w",
                            2,
                            2,
                            1L << 30,
                            "simulated",
                            unpooled("t", 10, 8, "[\"table_column_wise\"]")))),
                "q",
                "--format",
                "torchrec"))
        .isEqualTo(2);
    assertThat(err.toString())
        .contains(
            " line 1: Table \"t\" is unpooled and may only be table_column_wise; must allow one of");
  }

  private static String unpooled(String name, long rows, int columns, String kinds) {
    return table(name, rows, columns, 50)
        .replace("}", ",\"pooled\":false,\"constraints\":{\"kinds\":%s}}".formatted(kinds));
  }

  @Test
  void plans_of_other_workloads_are_refused() throws IOException {
    Path workloads = write("w", List.of(ONE));
    assertThat(run(workloads, "p", "--format", "torchrec")).as(err.toString()).isZero();
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
            "{\"world_size\":1,\"plan\":{\"m\":{\"a\":{\"sharding_type\":\"data_parallel\",\"compute_kernel\":\"dense\",\"ranks\":[0]}}}}"),
        " line 1: Table \"a\" is data_parallel; model ");
  }

  private void check(Path workloads, List<String> plans, String message) throws IOException {
    Path file = write("plans", plans);
    assertThat(run(workloads, "o", "--predict", file.toString())).isEqualTo(2);
    assertThat(err.toString()).contains(file + message);
    assertThat(folder.resolve("o")).doesNotExist();
  }
}
