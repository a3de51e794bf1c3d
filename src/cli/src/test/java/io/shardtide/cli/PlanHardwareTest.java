package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code plan --hardware}: workloads on several kinds of hardware. */
class PlanHardwareTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long GIB = 1L << 30;

  @TempDir private Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... args) {
    out.getBuffer().setLength(0);
    err.getBuffer().setLength(0);
    return Shardtide.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  private int plan(Path workloads, String hardware, String... more) {
    List<String> args =
        new ArrayList<>(
            List.of(
                "plan",
                "--workloads",
                workloads.toString(),
                "--hardware",
                hardware,
                "--evaluations-per-table",
                "50"));
    args.addAll(List.of(more));
    return run(args.toArray(new String[0]));
  }

  private Path write(String name, String... lines) throws IOException {
    return Files.write(folder.resolve(name), List.of(lines));
  }

  private static String task(String name, String hardware, long memory, long reserved) {
    return String.format(
        Locale.ROOT,
        "{\"task\":\"%s\",\"cluster\":{\"devices\":4,\"memoryBytesPerDevice\":%d,\"reservedMemoryBytesPerDevice\":%d,"
            + "\"batchSize\":65536,\"hardware\":\"%s\"},\"tables\":[%s,%s]}",
        name,
        memory,
        reserved,
        hardware,
        "{\"name\":\"user\",\"rows\":10000000,\"columns\":128,\"poolingFactor\":2}",
        "{\"name\":\"item\",\"rows\":8000000,\"columns\":64,\"poolingFactor\":30}");
  }

  private List<JsonNode> printed() throws IOException {
    List<JsonNode> lines = new ArrayList<>();
    for (String line : out.toString().lines().toList()) {
      lines.add(JSON.readTree(line));
    }
    return lines;
  }

  private static List<JsonNode> plans(Path file) throws IOException {
    List<JsonNode> lines = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      ObjectNode json = (ObjectNode) JSON.readTree(line);
      json.remove("seconds");
      lines.add(json);
    }
    return lines;
  }

  /** What is planned is what the same cluster of that hardware and memory has by itself. */
  @Test
  void each_plan_is_that_of_a_cluster_of_the_hardware_with_its_memory() throws IOException {
    Path workloads =
        write("w.jsonl", task("a", "mine", 16 * GIB, 0), task("b", "mine", 16 * GIB, 8 * GIB));
    Path own =
        write(
            "own.jsonl",
            task("a", "h200", 141 * GIB, 0),
            task("a", "simulated-8xh100", 16 * GIB, 0),
            task("b", "h200", 141 * GIB, 8 * GIB),
            task("b", "simulated-8xh100", 16 * GIB, 8 * GIB));
    Path compared = folder.resolve("compared.jsonl");
    assertThat(plan(workloads, "h200=141,simulated-8xh100", "--out", compared.toString(), "--json"))
        .as(err.toString())
        .isZero();
    List<JsonNode> rows = printed();
    Path expected = folder.resolve("expected.jsonl");
    assertThat(
            run(
                "plan",
                "--workloads",
                own.toString(),
                "--out",
                expected.toString(),
                "--evaluations-per-table",
                "50"))
        .as(err.toString())
        .isZero();
    assertThat(plans(compared)).isEqualTo(plans(expected)).hasSize(4);
    for (int i = 0; i < 4; i++) {
      JsonNode row = rows.get(i);
      String hardware = i % 2 == 0 ? "h200" : "simulated-8xh100";
      assertThat(JSON.readTree(Files.readAllLines(compared).get(i)).get("hardware").textValue())
          .isEqualTo(hardware)
          .isEqualTo(row.get("hardware").textValue());
      assertThat(row.get("task").textValue()).isEqualTo(i < 2 ? "a" : "b");
      assertThat(row.get("simulated").booleanValue()).isEqualTo(i % 2 == 1);
      assertThat(row.get("usableBytesPerDevice").longValue())
          .isEqualTo((i % 2 == 0 ? 141 : 16) * GIB - (i < 2 ? 0 : 8 * GIB));
      double predictedMs = row.at("/plan/predictedMs").doubleValue();
      assertThat(predictedMs).isEqualTo(plans(expected).get(i).get("predicted_ms").doubleValue());
      assertThat(row.at("/plan/lowerBoundMs").doubleValue()).isBetween(0.0, predictedMs);
      assertThat(row.at("/plan/aboveBound").doubleValue())
          .isEqualTo(predictedMs / row.at("/plan/lowerBoundMs").doubleValue() - 1);
      assertThat(row.at("/plan/bottleneck/device").intValue()).isBetween(0, 3);
      assertThat(row.at("/plan/bottleneck/table").textValue()).isIn("user", "item");
      assertThat(row.at("/plan/fullestDeviceBytes").longValue())
          .isEqualTo(bytesOf(plans(expected).get(i), row.at("/plan/fullestDevice").intValue()))
          .isLessThanOrEqualTo(row.get("usableBytesPerDevice").longValue());
    }
  }

  /** Tables of four bytes an element and no state. */
  private static long bytesOf(JsonNode plan, int device) {
    long bytes = 0;
    for (JsonNode table : plan.get("tables")) {
      for (JsonNode shard : table.get("shards")) {
        if (shard.get("device").isNull() || shard.get("device").intValue() == device) {
          bytes += 4 * shard.get("rows").longValue() * shard.get("columns").longValue();
        }
      }
    }
    return bytes;
  }

  @Test
  void what_must_fit_decides_the_exit_status() throws IOException {
    Path workloads = write("w.jsonl", task("a", "mine", 16 * GIB, 0), task("b", "mine", GIB, 0));
    assertThat(plan(workloads, "h200,simulated-8xh100=16")).as(err.toString()).isZero();
    assertThat(out.toString())
        .contains("b         h200              no, 2.7 GiB short", "does not fit: b on h200: ")
        .contains("simulated costs: simulated-8xh100");
    List<String> lines = out.toString().lines().toList();
    int fits = lines.get(0).indexOf("fits");
    assertThat(lines.subList(1, 5))
        .as("aligned below the heading")
        .extracting(line -> line.substring(fits).split(" ", 2)[0])
        .containsExactly("yes", "yes", "no,", "yes");
    assertThat(plan(workloads, "h200,simulated-8xh100=16", "--must-fit", "simulated-8xh100"))
        .as(err.toString())
        .isZero();
    assertThat(err.toString()).doesNotContain("--must-fit");
    assertThat(plan(workloads, "h200,simulated-8xh100=16", "--must-fit", "h200")).isEqualTo(1);
    assertThat(err.toString())
        .contains("shardtide: 1 of 2 plans that --must-fit names do not fit: b on h200");
    assertThat(plan(workloads, "h200,simulated-8xh100=16", "--must-fit", "all", "--json"))
        .isEqualTo(1);
    assertThat(err.toString()).contains("1 of 4 plans that --must-fit names do not fit: b on h200");
    JsonNode tooLarge = printed().get(2);
    assertThat(tooLarge.get("plan").isNull()).isTrue();
    assertThat(tooLarge.get("mustFit").booleanValue()).isTrue();
    assertThat(tooLarge.at("/shortfall/proven").booleanValue()).isTrue();
    // 10 million rows of 128 columns and 8 million of 64, on four devices of 1 GiB.
    assertThat(tooLarge.at("/shortfall/bytesShort").longValue())
        .isEqualTo(7_168_000_000L - 4 * GIB);
  }

  /** A user's models stand beside the shipped ones, and in their place. */
  @Test
  void given_models_are_known_beside_the_shipped_ones() throws IOException {
    Path workloads = write("w.jsonl", task("a", "mine", 16 * GIB, 0));
    String given = "models/simulated.avro";
    assertThat(plan(workloads, "simulated,h200", "--model", given)).as(err.toString()).isZero();
    assertThat(out.toString()).contains("a         simulated  yes", "a         h200       yes");
    assertThat(plan(workloads, "simulated", "--model", given, "--model", given)).isEqualTo(2);
    assertThat(err.toString())
        .contains("--model must be of different hardware, got \"simulated\" twice");
    assertThat(
            run(
                "plan",
                "--workloads",
                workloads.toString(),
                "--out",
                folder.resolve("o").toString(),
                "--model",
                given,
                "--model",
                given))
        .isEqualTo(2);
    assertThat(err.toString())
        .contains("--model must be of different hardware, got \"simulated\" twice");
  }

  /** A plan in TorchRec's layout is one that predicts again. */
  @Test
  void plans_for_torchrec_name_their_hardware_and_are_read_again() throws IOException {
    Path workloads = write("w.jsonl", task("a", "h200", 16 * GIB, 0));
    Path torchRec = folder.resolve("torchrec.jsonl");
    assertThat(
            plan(workloads, "h200", "--format", "torchrec", "--out", torchRec.toString(), "--json"))
        .as(err.toString())
        .isZero();
    double predictedMs = printed().get(0).at("/plan/predictedMs").doubleValue();
    assertThat(Files.readString(torchRec)).startsWith("{\"task\":\"a\",\"hardware\":\"h200\"");
    Path again = folder.resolve("again.jsonl");
    assertThat(
            run(
                "plan",
                "--workloads",
                workloads.toString(),
                "--predict",
                torchRec.toString(),
                "--out",
                again.toString()))
        .as(err.toString())
        .isZero();
    assertThat(plans(again).get(0).get("predicted_ms").doubleValue())
        .isCloseTo(predictedMs, Percentage.withPercentage(1e-6));
  }

  @Test
  void a_cluster_that_reserves_all_of_the_memory_is_an_error_before_planning() throws IOException {
    Path workloads =
        write("w.jsonl", task("a", "x", 16 * GIB, 0), task("b", "x", 16 * GIB, 8 * GIB));
    Path plans = folder.resolve("plans.jsonl");
    assertThat(plan(workloads, "h200,simulated=8", "--out", plans.toString())).isEqualTo(2);
    assertThat(err.toString())
        .contains(
            workloads
                + " line 2: on simulated: reserved bytes of memory per device of a cluster must be"
                + " between 0 and 8589934591, got 8589934592");
    assertThat(plans).doesNotExist();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          --workloads w --hardware h200=           | '' is not a double
          --workloads w --hardware h200=x            | 'x' is not a double
          --workloads w --hardware =80               | --hardware
          --workloads w --hardware h200 --must-fit a | --must-fit must be all, or names of --hardware: "h200"; got "a"
          --workloads w --out o --must-fit all       | --must-fit must be all, or names of --hardware: ; got "all"
          --workloads w --hardware h200 --predict p --out o | there is no option --hardware
          """)
  void wrong_options_are_named(String options, String message) {
    assertThat(run(("plan " + options).split(" +", -1))).isEqualTo(2);
    assertThat(err.toString()).contains(message);
  }

  @Test
  void unknown_hardware_is_an_error_with_the_known_names() throws IOException {
    Path workloads = write("w.jsonl", task("a", "mine", 16 * GIB, 0));
    assertThat(plan(workloads, "h200,a100=80")).isEqualTo(2);
    assertThat(err.toString())
        .contains(
            "--hardware must have a model, there are \"h200\", \"simulated\","
                + " \"simulated-8xh100\"; got \"a100\". Maybe pass one with --model");
  }

  /**
   * The three workloads that EMBark (Liu et al., RecSys 2024) was evaluated with, on eight devices:
   * which fit is arithmetic, that plans exist is not.
   */
  @Test
  void the_workloads_of_embark_fit_where_their_bytes_do() throws IOException {
    String[] lines = embark();
    Path workloads = write("embark.jsonl", lines);
    assertThat(plan(workloads, "h200=141,simulated-8xh100=80,simulated=40", "--json"))
        .as(err.toString())
        .isZero();
    // Parameters of the three, of four bytes.
    long[] bytes = {4 * 66_332_812_800L, 4 * 103_861_888_000L, 4 * 114_572_800_000L};
    List<JsonNode> rows = printed();
    assertThat(rows).hasSize(9);
    for (int i = 0; i < rows.size(); i++) {
      JsonNode row = rows.get(i);
      long memory = 8 * row.get("usableBytesPerDevice").longValue();
      boolean fits = row.get("shortfall").isNull();
      assertThat(fits).as(row.toString()).isEqualTo(bytes[i / 3] <= memory);
      if (!fits) {
        assertThat(row.at("/shortfall/bytesShort").longValue()).isEqualTo(bytes[i / 3] - memory);
      } else {
        assertThat(8 * row.at("/plan/fullestDeviceBytes").longValue())
            .isGreaterThanOrEqualTo(bytes[i / 3]);
      }
    }
    assertThat(rows.stream().map(row -> row.get("shortfall").isNull()))
        .containsExactly(true, true, true, true, true, false, true, true, false);
  }

  /**
   * Reads the arguments of the benchmark: four lists for each workload, and makes lines of them.
   */
  private static String[] embark() throws IOException {
    String text;
    try (InputStream in = PlanHardwareTest.class.getResourceAsStream("/embark/datasets.txt")) {
      text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
    List<String> lines = new ArrayList<>();
    Matcher datasets = Pattern.compile("(?m)^(\\w+)=\"([^\"]*)\"").matcher(text);
    while (datasets.find()) {
      String[] count = numbers(datasets.group(2), "num_table");
      String[] rows = numbers(datasets.group(2), "vocabulary_size_per_table");
      String[] lookups = numbers(datasets.group(2), "nnz_per_table");
      String[] columns = numbers(datasets.group(2), "ev_size_per_table");
      List<String> tables = new ArrayList<>();
      for (int g = 0; g < count.length; g++) {
        for (int t = 0; t < Integer.parseInt(count[g]); t++) {
          tables.add(
              "{\"name\":\"t%d\",\"rows\":%s,\"columns\":%s,\"poolingFactor\":%s}"
                  .formatted(tables.size(), rows[g], columns[g], lookups[g]));
        }
      }
      lines.add(
          "{\"task\":\"%s\",\"cluster\":{\"devices\":8,\"memoryBytesPerDevice\":1,\"batchSize\":65536,\"hardware\":\"x\"},\"tables\":[%s]}"
              .formatted(datasets.group(1), String.join(",", tables)));
    }
    return lines.toArray(new String[0]);
  }

  private static String[] numbers(String text, String name) {
    Matcher list = Pattern.compile("--" + name + " ([\\d,]+)").matcher(text);
    assertThat(list.find()).as(name).isTrue();
    return list.group(1).split(",", -1);
  }
}
