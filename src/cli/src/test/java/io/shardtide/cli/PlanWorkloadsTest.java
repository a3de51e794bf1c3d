package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.plan.SearchSettings;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code plan --workloads}: what it writes, checked on the file alone. */
class PlanWorkloadsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String HARDWARE = "simulated-8xh100";

  @TempDir private Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int plan(Path workloads, String... more) {
    List<String> args =
        new ArrayList<>(
            List.of("plan", "--workloads", workloads.toString(), "--out", plans().toString()));
    args.addAll(List.of(more));
    return Shardtide.run(new PrintWriter(out), new PrintWriter(err), args.toArray(new String[0]));
  }

  private Path plans() {
    return folder.resolve("plans/plans.jsonl");
  }

  private Path write(String... lines) throws IOException {
    return Files.write(folder.resolve("workloads.jsonl"), List.of(lines));
  }

  private static String task(String name, String cluster, String... tables) {
    return "{\"task\":\"%s\",\"cluster\":{%s},\"tables\":[%s]}"
        .formatted(name, cluster, String.join(",", tables));
  }

  private static String cluster(int devices, int perNode, long memory, String hardware) {
    return "\"devices\":%d,\"devicesPerNode\":%d,\"memoryBytesPerDevice\":%d,\"batchSize\":65536,\"hardware\":\"%s\""
        .formatted(devices, perNode, memory, hardware);
  }

  private static String table(String name, long rows, int columns, double pooling) {
    return String.format(
        Locale.ROOT,
        "{\"name\":\"%s\",\"rows\":%d,\"columns\":%d,\"poolingFactor\":%s,\"optimizerBytesPerRow\":4}",
        name,
        rows,
        columns,
        pooling);
  }

  /** Two nodes; what suits each table best differs. */
  private static String mixed() {
    List<String> tables = new ArrayList<>();
    tables.add(table("few columns, many lookups", 20_000_000, 4, 200));
    tables.add(table("more lookups", 20_000_000, 8, 300));
    tables.add(table("wide", 30_000_000, 128, 40));
    for (int i = 0; i < 16; i++) {
      tables.add(table("t" + i, 100 + i, 128, 20));
    }
    return task("mixed", cluster(16, 8, 40L << 30, HARDWARE), tables.toArray(new String[0]));
  }

  private static String columns() {
    return task(
        "columns",
        cluster(4, 4, 8L << 30, HARDWARE),
        table("wide", 20_000_000, 256, 2),
        table("narrow", 20_000_000, 16, 2));
  }

  private static String rows() {
    return task("rows", cluster(16, 8, 40L << 30, HARDWARE), table("a", 50_000_000, 4, 500));
  }

  /** Several such tables need no more than a node each. */
  private static String nodes() {
    String[] tables = new String[6];
    for (int t = 0; t < tables.length; t++) {
      tables[t] = table("t" + t, 50_000_000, 4, 500);
    }
    return task("nodes", cluster(16, 8, 40L << 30, HARDWARE), tables);
  }

  private static final String GRID =
      table("g", 50_000_000, 64, 30).replace("}", ",\"constraints\":{\"kinds\":[\"grid_shard\"]}}");

  private static String copies() {
    return task(
        "copies",
        cluster(4, 4, 1L << 30, HARDWARE),
        table("a", 100, 64, 1),
        table("b", 200, 64, 1));
  }

  private static final String BLOCKS =
      table("p", 50_000_000, 4, 30)
          .replace("}", ",\"constraints\":{\"kinds\":[\"partial_row_wise\"]}}");

  /** 1,966,080 lookups touch 17.8% of the rows, those of two batches 32.5%. */
  @Test
  void a_cache_that_is_too_small_is_planned_with_a_warning() throws IOException {
    String kernel =
        ",\"kernel\":{\"computeKernel\":\"fused_uvm_caching\",\"cacheLoadFactor\":0.2}}";
    String small = table("small", 10_000_000, 64, 30).replace("}", kernel);
    String host = cluster(2, 2, 40L << 30, HARDWARE) + ",\"hostMemoryBytesPerDevice\":64000000000";
    String prefetch = ",\"countsStepMemory\":true,\"pipeline\":\"prefetch\"";
    Path workloads = write(task("one", host, small));
    assertThat(plan(workloads)).isZero();
    assertThat(err.toString()).doesNotContain("the cache of table");
    write(task("two", host + prefetch, small));
    assertThat(plan(workloads)).isZero();
    assertThat(err.toString())
        .contains(
            "warning: the cache of table small holds 20.0 % of its rows, and at least 32.5 % are needed at once; below that it is worse than no cache");
    assertThat(Files.readString(plans())).contains("\"cache_share\":0.2");
  }

  @Test
  void plans_of_all_kinds_are_complete_and_fit() throws IOException {
    Path workloads =
        write(
            mixed(),
            columns(),
            rows(),
            nodes(),
            copies(),
            task("grid", cluster(16, 8, 40L << 30, HARDWARE), GRID),
            task("blocks", cluster(16, 8, 40L << 30, HARDWARE), BLOCKS),
            task("one", cluster(1, 1, 1L << 30, HARDWARE), table("a", 1000, 8, 1)),
            task("short", cluster(2, 2, 1L << 20, HARDWARE), table("a", 1_000_000, 64, 1)));
    assertThat(plan(workloads)).as(err.toString()).isZero();
    assertThat(out.toString())
        .startsWith("8 of 9 tasks planned")
        .contains("trained on simulated costs");
    List<String> lines = Files.readAllLines(plans());
    List<WorkloadTask> tasks = WorkloadTask.read(workloads);
    Set<String> kinds = new TreeSet<>();
    for (int i = 0; i < 8; i++) {
      JsonNode line = JSON.readTree(lines.get(i));
      assertThat(line.fieldNames())
          .toIterable()
          .containsExactly(
              "task",
              "hardware",
              "memory_bytes_per_device",
              "feasible",
              "predicted_ms",
              "seconds",
              "evaluations",
              "world_size",
              "tables");
      assertThat(line.get("world_size").intValue()).isEqualTo(tasks.get(i).cluster().devices());
      assertThat(line.get("task").textValue()).isEqualTo(tasks.get(i).name());
      assertThat(line.get("feasible").booleanValue()).isTrue();
      assertThat(line.get("predicted_ms").doubleValue()).isPositive();
      assertThat(line.get("seconds").doubleValue()).isPositive();
      assertThat(line.get("evaluations").longValue()).isPositive();
      check(line.get("tables"), tasks.get(i), kinds);
    }
    assertThat(kinds)
        .contains(
            "table_wise",
            "column_wise",
            "table_row_wise",
            "grid_shard",
            "row_wise",
            "data_parallel",
            "partial_row_wise");
    JsonNode line = JSON.readTree(lines.get(8));
    assertThat(line.fieldNames())
        .toIterable()
        .containsExactly(
            "task",
            "hardware",
            "memory_bytes_per_device",
            "feasible",
            "seconds",
            "evaluations",
            "reason",
            "bytes_short");
    assertThat(line.get("task").textValue()).isEqualTo("short");
    assertThat(line.get("feasible").booleanValue()).isFalse();
    assertThat(line.get("seconds").doubleValue()).isNotNegative();
    assertThat(line.get("evaluations").longValue()).isNotNegative();
    assertThat(line.get("reason").textValue()).startsWith("The narrowest shard of table a, ");
    // 64 columns of a million rows, 4 bytes an element and 4 a row, on two devices of a MiB.
    assertThat(line.get("bytes_short").longValue()).isEqualTo(260_000_000 - 2 * (1 << 20));
    try (Stream<Path> files = Files.list(plans().getParent())) {
      assertThat(files).containsExactly(plans());
    }
  }

  /** A plan's line without what differs from run to run. */
  private List<JsonNode> planned(Path workloads, String... more) throws IOException {
    assertThat(plan(workloads, more)).as(err.toString()).isZero();
    List<JsonNode> lines = new ArrayList<>();
    for (String line : Files.readAllLines(plans())) {
      ObjectNode json = (ObjectNode) JSON.readTree(line);
      json.remove("seconds");
      lines.add(json);
    }
    return lines;
  }

  @Test
  void a_budget_bounds_the_search_of_each_task() throws IOException {
    String[] tables = new String[30];
    for (int t = 0; t < tables.length; t++) {
      tables[t] = table("t" + t, 1_000_000L * (1 + t), 16 << (t % 4), 1 + 3 * t);
    }
    Path workloads =
        write(
            task("many", cluster(16, 8, 40L << 30, HARDWARE), tables),
            columns(),
            task("short", cluster(2, 2, 1L << 20, HARDWARE), table("a", 1_000_000, 64, 1)));
    List<JsonNode> usual = planned(workloads);
    String usually = Long.toString(SearchSettings.DEFAULTS.evaluationsPerTable());
    assertThat(planned(workloads, "--evaluations-per-table", usually)).isEqualTo(usual);
    out.getBuffer().setLength(0);
    List<JsonNode> least = planned(workloads, "--evaluations-per-table", "20", "--json");
    double evaluations = 0;
    for (JsonNode line : least) {
      evaluations += line.get("evaluations").longValue();
    }
    assertThat(JSON.readTree(out.toString()).get("mean_evaluations").doubleValue())
        .isEqualTo(evaluations / 3);
    for (int i = 0; i < 2; i++) {
      assertThat(least.get(i).get("evaluations").longValue())
          .isLessThan(usual.get(i).get("evaluations").longValue());
      assertThat(least.get(i).get("predicted_ms").doubleValue())
          .isGreaterThanOrEqualTo(usual.get(i).get("predicted_ms").doubleValue());
    }
    assertThat(least.get(0).get("predicted_ms").doubleValue())
        .as("what more time is worth")
        .isGreaterThan(usual.get(0).get("predicted_ms").doubleValue());
  }

  /** Covers each table once, within the memory of each device. */
  private static void check(JsonNode tables, WorkloadTask task, Set<String> kinds) {
    ClusterSpec cluster = task.cluster();
    long[] bytes = new long[cluster.devices()];
    assertThat(tables).hasSameSizeAs(task.tables());
    for (int t = 0; t < tables.size(); t++) {
      TableSpec table = task.tables().get(t);
      assertThat(tables.get(t).get("name").textValue()).isEqualTo(table.name());
      JsonNode shards = tables.get(t).get("shards");
      String kind = shards.get(0).get("kind").textValue();
      kinds.add(kind);
      long cells = 0;
      for (int s = 0; s < shards.size(); s++) {
        JsonNode shard = shards.get(s);
        assertThat(shard.fieldNames())
            .toIterable()
            .containsExactly(
                "kind", "column_offset", "columns", "row_offset", "rows", "device", "cache_share");
        assertThat(shard.get("kind").textValue()).isEqualTo(kind);
        assertThat(shard.get("cache_share").isNull()).isTrue();
        assertThat(end(shard, "column_offset", "columns")).isLessThanOrEqualTo(table.columns());
        assertThat(end(shard, "row_offset", "rows")).isLessThanOrEqualTo(table.rows());
        long rows = shard.get("rows").longValue();
        int columns = shard.get("columns").intValue();
        cells += rows * columns;
        for (int other = 0; other < s; other++) {
          assertThat(overlap(shard, shards.get(other))).as(table.name()).isFalse();
        }
        long size = 4 * rows * columns + 4 * rows;
        if (kind.equals("data_parallel")) {
          assertThat(shard.get("device").isNull()).isTrue();
          for (int d = 0; d < bytes.length; d++) {
            bytes[d] += size;
          }
        } else {
          assertThat(shard.get("device").isIntegralNumber()).isTrue();
          bytes[shard.get("device").intValue()] += size;
        }
      }
      // Without an overlap, as many cells as the table has are all of them, once.
      assertThat(cells).as(table.name()).isEqualTo(table.rows() * table.columns());
      checkDevices(kind, shards, cluster);
      checkEqual(shards);
    }
    assertThat(Arrays.stream(bytes).max().orElseThrow())
        .isLessThanOrEqualTo(cluster.memoryBytesPerDevice());
  }

  private static long end(JsonNode shard, String offset, String size) {
    assertThat(shard.get(offset).longValue()).isNotNegative();
    assertThat(shard.get(size).longValue()).isPositive();
    return shard.get(offset).longValue() + shard.get(size).longValue();
  }

  private static boolean overlap(JsonNode one, JsonNode two) {
    return end(one, "column_offset", "columns") > two.get("column_offset").longValue()
        && end(two, "column_offset", "columns") > one.get("column_offset").longValue()
        && end(one, "row_offset", "rows") > two.get("row_offset").longValue()
        && end(two, "row_offset", "rows") > one.get("row_offset").longValue();
  }

  /** Each kind is on the devices that TorchRec puts it on. */
  private static void checkDevices(String kind, JsonNode shards, ClusterSpec cluster) {
    switch (kind) {
      case "table_wise", "data_parallel" -> assertThat(shards).hasSize(1);
      case "column_wise" -> assertThat(shards).hasSizeGreaterThan(1);
      case "row_wise" -> assertThat(shards).hasSize(cluster.devices());
      case "table_row_wise" -> {
        assertThat(shards).hasSize(cluster.devicesPerNode());
        assertThat(shards)
            .extracting(s -> cluster.node(s.get("device").intValue()))
            .containsOnly(cluster.node(shards.get(0).get("device").intValue()));
      }
      case "partial_row_wise" -> assertThat(shards).hasSizeGreaterThan(1);
      case "grid_shard" -> assertThat(shards.size() % cluster.devicesPerNode()).isZero();
      default -> throw new AssertionError("unexpected kind " + kind);
    }
  }

  /** Parts are of equal width, and no device has two. */
  private static void checkEqual(JsonNode shards) {
    Set<Integer> devices = new HashSet<>();
    for (JsonNode shard : shards) {
      assertThat(shard.get("columns")).isEqualTo(shards.get(0).get("columns"));
      assertThat(devices.add(shard.get("device").intValue())).isTrue();
    }
  }

  /** The first shipped model lacks collectives of rows and copies. */
  @Test
  void a_model_is_the_one_of_the_hardware_and_its_limits_are_named() throws IOException {
    Path workloads =
        write(
            task("a", cluster(4, 4, 1L << 30, "simulated"), table("a", 1000, 64, 1)),
            task("b", cluster(4, 4, 1L << 30, HARDWARE), table("b", 10_000_000_000L, 4, 1)),
            task("c", cluster(4, 4, 1L << 30, "simulated"), table("c", 1000, 64, 1)));
    assertThat(plan(workloads)).as(err.toString()).isZero();
    assertThat(out.toString()).startsWith("2 of 3 tasks planned");
    assertThat(err.toString())
        .containsOnlyOnce(" of simulated lacks measured collectives")
        .doesNotContain(" of simulated-8xh100 lacks")
        .contains("b with rows of 10000000000 (trained: ");
  }

  @Test
  void a_cluster_of_another_hardware_is_an_error_before_planning() throws IOException {
    Path workloads =
        write(
            task("a", cluster(4, 4, 1L << 30, HARDWARE), table("a", 1000, 64, 1)),
            task("b", cluster(4, 4, 1L << 30, "x"), table("a", 1000, 64, 1)));
    Files.createDirectories(plans().getParent());
    Files.writeString(plans(), "before");
    assertThat(plan(workloads)).isEqualTo(2);
    assertThat(err.toString())
        .contains(
            workloads
                + " line 2: hardware of a cluster must be that of a shipped model, \"h200\","
                + " \"simulated\", \"simulated-8xh100\", got \"x\"");
    assertThat(plan(workloads, "--model", "models/simulated.avro")).isEqualTo(2);
    assertThat(err.toString())
        .contains(
            workloads
                + " line 1: hardware of a cluster must be that of the given model, \"simulated\","
                + " got \"simulated-8xh100\"");
    assertThat(Files.readString(plans())).isEqualTo("before");
  }

  @Test
  void a_malformed_line_is_an_error_before_planning() throws IOException {
    Path workloads = write(mixed(), task("b", cluster(0, 4, 1L << 30, HARDWARE)));
    assertThat(plan(workloads)).isEqualTo(2);
    assertThat(err.toString())
        .contains(
            "shardtide: "
                + workloads
                + " line 2: cluster: devices of a cluster must be between 1 and 16384, got 0");
    assertThat(plans()).doesNotExist();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          plan --workloads w --out o --format torchrec      | there is no option --format; -o says how to print, and shardtide-py convert writes plans for TorchRec
          plan --workloads w --out o --format=torchrec      | shardtide-py convert writes plans for TorchRec
          plan --workloads w --out o --devices-per-node 4   | shardtide-py convert writes plans for TorchRec
          plan make -f w --out o --kernel dense             | shardtide-py convert writes plans for TorchRec
          watch --once --module m                           | shardtide-py convert writes plans for TorchRec
          plan watch w --reshardable                        | shardtide-py convert writes plans for TorchRec
          plan evaluate --out o                             | plan evaluate needs -f FILE --plans FILE
          plan --workloads w --out o --predict p --evaluations-per-table 9 | there is no option --evaluations-per-table
          plan --workloads w --out o --evaluations-per-table 0 | evaluationsPerTable must be 1 to 10000000, got 0
          plan --workloads w --out o --evaluations-per-table 10000001 | evaluationsPerTable must be 1 to 10000000, got 10000001
          plan --workloads w --out o --evaluations-per-table 1e3 | '1e3' is not a long
          plan --workloads w                                | plan make needs --out FILE, or --hardware
          plan make                                         | plan make needs -f FILE
          """)
  void options_that_do_not_go_together_are_named(String command, String message) {
    int status = Shardtide.run(new PrintWriter(out), new PrintWriter(err), command.split(" +", -1));
    assertThat(status).isEqualTo(2);
    assertThat(err.toString()).contains(message);
  }
}
