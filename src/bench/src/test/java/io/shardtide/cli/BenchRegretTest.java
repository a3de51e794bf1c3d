package io.shardtide.cli;

import static io.shardtide.cli.BenchOutput.bench;
import static io.shardtide.cli.BenchOutput.number;
import static io.shardtide.cli.BenchOutput.row;
import static io.shardtide.cli.BenchOutput.rows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.plan.SearchSettings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code bench search --regret} on a small workload: its table, and files of best known steps. */
class BenchRegretTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Columns of the table, and those of each budget from there on. */
  private static final int BEST_KNOWN = 3;

  private static final int QUICK = 4;
  private static final int DEFAULT = 8;
  private static final int LEAST = 12;
  private static final int REGRET = 1;
  private static final int EVALUATIONS = 3;

  @TempDir private Path folder;

  /** Twelve tables on 8 devices, and one that does not fit. */
  @BeforeEach
  void write() throws IOException {
    StringBuilder tables = new StringBuilder();
    for (int t = 0; t < 12; t++) {
      tables.append(
          "%s{\"name\":\"t%d\",\"rows\":%d,\"columns\":%d,\"poolingFactor\":%d}"
              .formatted(t == 0 ? "" : ",", t, 200_000 * (t + 1), 16 << (t % 4), 1 + 9 * t));
    }
    String line =
        "{\"task\":\"%s\",\"cluster\":{\"devices\":8,\"memoryBytesPerDevice\":%d,\"batchSize\":32768,\"hardware\":\"simulated-8xh100\"},\"tables\":[%s]}";
    Files.write(
        Files.createDirectory(folder.resolve("workloads")).resolve("a.jsonl"),
        List.of(
            line.formatted("small", 1L << 33, tables), line.formatted("short", 1L << 20, tables)));
  }

  /** Runs the small workload with three budgets. */
  private String regret(String... more) {
    List<String> options =
        List.of(
            "search",
            "--regret",
            "--workloads",
            folder.resolve("workloads").toString(),
            "--budgets",
            "20");
    String[] all = new String[options.size() + more.length];
    options.toArray(all);
    System.arraycopy(more, 0, all, options.size(), more.length);
    return bench(all);
  }

  private String file(String name) {
    return folder.resolve(name).toString();
  }

  /** Writes a file with a step of the small workload's, or of another, problem. */
  private String known(String problem, double ms) throws IOException {
    Files.writeString(
        folder.resolve("known.json"),
        String.format(
            Locale.ROOT,
            "{\"workloads\":{\"small\":{\"problem\":\"%s\",\"ms\":%s,\"evaluations_per_table\":7,\"command\":\"before\"}}}",
            problem,
            ms));
    return file("known.json");
  }

  private JsonNode written() throws IOException {
    return JSON.readTree(folder.resolve("written.json").toFile()).get("workloads");
  }

  @Test
  void without_known_steps_regrets_are_relative_to_the_least_which_is_written() throws IOException {
    String out = regret("--write", file("written.json"));
    List<String> cells = row(rows(out), "small");
    assertThat(cells.subList(0, 3)).containsExactly("small", "12", "8");
    double quick = number(cells.get(QUICK));
    double usual = number(cells.get(DEFAULT));
    double least = number(cells.get(LEAST));
    assertThat(usual).isLessThanOrEqualTo(quick);
    assertThat(least).as("20 evaluations a table are too few").isGreaterThan(usual);
    assertThat(cells.get(BEST_KNOWN)).isEqualTo(cells.get(DEFAULT) + " *");
    for (int budget : new int[] {QUICK, DEFAULT, LEAST}) {
      // Both steps are rounded to 0.0001 ms, the regret to 0.01 %.
      assertThat(number(cells.get(budget + REGRET)))
          .isCloseTo(100 * (number(cells.get(budget)) / usual - 1), within(0.01 / usual + 0.006));
    }
    assertThat(number(cells.get(LEAST + EVALUATIONS)))
        .isLessThan(number(cells.get(QUICK + EVALUATIONS)));
    assertThat(number(cells.get(QUICK + EVALUATIONS)))
        .isLessThan(number(cells.get(DEFAULT + EVALUATIONS)));
    List<String> none = row(rows(out), "short");
    assertThat(none.get(DEFAULT)).isEqualTo("no plan");
    assertThat(none.get(DEFAULT + REGRET)).isEmpty();
    assertThat(out)
        .contains("* none is known of this problem: the least of this run")
        .doesNotContain("better than the best known");
    List<String> lines = out.lines().toList();
    assertThat(lines.get(lines.size() - 1))
        .matches(
            "regret over 2 workloads: quick mean .* \\(small\\), 1 without a plan; default mean"
                + " 0\\.00 %, worst 0\\.00 % \\(small\\), 1 without a plan; 20 mean .*");

    assertThat(written().fieldNames()).toIterable().containsExactly("small");
    JsonNode step = written().get("small");
    assertThat(step.fieldNames())
        .toIterable()
        .containsExactly("problem", "ms", "evaluations_per_table", "command");
    assertThat(step.get("problem").textValue()).matches("[0-9a-f]{12}");
    assertThat(step.get("ms").doubleValue()).isCloseTo(usual, within(0.00006));
    assertThat(step.get("evaluations_per_table").longValue())
        .isIn(
            SearchSettings.QUICK.evaluationsPerTable(),
            SearchSettings.DEFAULTS.evaluationsPerTable());
    assertThat(step.get("command").textValue())
        .startsWith("shardtide bench search --regret --workloads " + folder);
  }

  @Test
  void regrets_are_relative_to_known_steps_of_the_same_problem_and_better_ones_are_named()
      throws IOException {
    regret("--write", file("written.json"));
    String problem = written().get("small").get("problem").textValue();
    double ms = written().get("small").get("ms").doubleValue();

    String same = regret("--only", "small", "--known", file("written.json"));
    assertThat(row(rows(same), "small").get(DEFAULT + REGRET)).isEqualTo("0.00");
    assertThat(same).doesNotContain("*").doesNotContain("better than");

    String worse =
        regret(
            "--only",
            "small",
            "--known",
            known(problem, 1.25 * ms),
            "--best",
            "30",
            "--write",
            file("written.json"));
    assertThat(row(rows(worse), "small").get(DEFAULT + REGRET)).isEqualTo("-20.00");
    assertThat(worse)
        .contains("better than the best known: small, default: ")
        .contains("; best mean");
    assertThat(written().get("small").get("ms").doubleValue()).isEqualTo(ms);

    String better =
        regret(
            "--only", "small", "--known", known(problem, ms / 2), "--write", file("written.json"));
    assertThat(row(rows(better), "small").get(DEFAULT + REGRET)).isEqualTo("100.00");
    assertThat(written().get("small").get("ms").doubleValue()).isEqualTo(ms / 2);
    assertThat(written().get("small").get("evaluations_per_table").longValue()).isEqualTo(7);
    assertThat(written().get("small").get("command").textValue()).isEqualTo("before");

    String other = regret("--only", "small", "--known", known("0123456789ab", ms / 2));
    assertThat(row(rows(other), "small").get(BEST_KNOWN)).endsWith(" *");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          --budgets 9                | 2 | --budgets needs --regret
          --regret --budgets 9,0     | 2 | evaluationsPerTable must be 1 to 10000000, got 0
          --regret --only zzz        | 2 | --only must be part of the name of a workload, got "zzz"
          --regret --known pom.xml   | 2 | pom.xml: no best known steps: Unexpected character ('<'
          """)
  void wrong_options_are_named(String options, int status, String message) {
    StringWriter err = new StringWriter();
    assertThat(
            Shardtide.run(
                new PrintWriter(new StringWriter()),
                new PrintWriter(err),
                ("bench search " + options.strip()).split(" +", -1)))
        .isEqualTo(status);
    assertThat(err.toString()).contains(message);
  }

  @Test
  void a_step_that_is_none_is_refused() throws IOException {
    StringWriter err = new StringWriter();
    assertThat(
            Shardtide.run(
                new PrintWriter(new StringWriter()),
                new PrintWriter(err),
                "bench",
                "search",
                "--regret",
                "--known",
                known("0123456789ab", -1)))
        .isEqualTo(2);
    assertThat(err.toString())
        .contains("known.json: no best known steps: ", "ms must be above 0, got -1.0");
  }
}
