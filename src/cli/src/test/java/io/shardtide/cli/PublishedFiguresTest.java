package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.models.ModelFiles;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code model evaluate --published}, and the page of what it says of the shipped model. */
class PublishedFiguresTest {
  private static final Path FIGURES = Path.of("models/published/measurements.jsonl");
  private static final Path PAGE = Path.of("docs/PUBLISHED.md");
  private static final Path MADE = Path.of("src/cli/target/published-page.txt");

  private static final String HEAD =
      """
      # Published measurements

      What others measured and published, beside what the shipped model of an H200 predicts for the same tables. It is the
      gate of that model: the command ends with 1 if an order is wrong, an error above its tolerance, or memory too low.

          ./shardtide model evaluate --published

      Other cards were measured, and more often whole steps than their sparse part. So differences and orders compare;
      absolute milliseconds do not. [models/published](../models/published) has the figures and their workloads, made from
      the settings in the sources. The model was trained on none of them; its link to the host is that of the first row.
      `PublishedFiguresTest` compares this page with what the code makes, and writes that to
      `src/cli/target/published-page.txt`: copy it here.

      """;

  @TempDir private Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  /** Two workloads of simulated hardware, one of which has a hundred times the lookups. */
  @BeforeEach
  void twoWorkloads() throws IOException {
    String line =
        "{\"task\":\"%s\",\"cluster\":{\"devices\":2,\"memoryBytesPerDevice\":%d,\"batchSize\":4096,"
            + "\"hardware\":\"h200\",\"countsStepMemory\":true,\"pipeline\":\"none\"},\"tables\":[{\"name\":"
            + "\"a\",\"rows\":100000,\"columns\":64,\"poolingFactor\":%d}]}%n";
    Files.writeString(
        folder.resolve("workloads.jsonl"),
        line.formatted("few", 1L << 30, 1)
            + line.formatted("many", 1L << 30, 100)
            + line.formatted("large", 1L << 20, 1));
  }

  private int evaluate(String... lines) throws IOException {
    Path file = folder.resolve("figures.jsonl");
    Files.writeString(file, String.join("\n", lines).replace('\'', '"') + "\n");
    return run("--published=" + file);
  }

  private int run(String... arguments) {
    String[] command = new String[arguments.length + 3];
    command[0] = "model";
    command[1] = "evaluate";
    command[2] = "-q";
    System.arraycopy(arguments, 0, command, 3, arguments.length);
    return Shardtide.run(new PrintWriter(out), new PrintWriter(err), command);
  }

  private static String figure(String quantity, String fields) {
    return "{'what':'x','quantity':'%s','card':'c','scope':'s','source':'o'%s}"
        .formatted(quantity, fields);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "step | ,'plus':['many'],'minus':['few'] | 0 | right",
        "step | ,'plus':['few'],'minus':['many'],'measured':1 | 1 | wrong order",
        "step | ,'plus':['many'],'measured':0.0001,'tolerance':0.5 | 1 | error above tolerance",
        "step | ,'plus':['many'],'measured':0.0001 | 0 | right",
        "memory | ,'plus':['few'],'measured':100 | 1 | below what was measured",
        "step | ,'plus':['large'],'measured':1 | 1 | no plan",
        "order | ,'note':'why' | 0 | not compared"
      })
  void a_wrong_figure_ends_the_command_with_1(
      String quantity, String fields, int status, String verdict) throws IOException {
    assertThat(evaluate(figure(quantity, fields))).as(err.toString()).isEqualTo(status);
    assertThat(out.toString()).contains("figure", "measured", verdict);
    assertThat(err.toString()).isEqualTo(status == 0 ? "" : "shardtide: x: " + verdict + "\n");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "step | ,'plus':['none'] | line 1: workload must be in",
        "bandwidth | ,'plus':['few'] | line 1: quantity of a figure that is compared must be one of step, memory, got \"bandwidth\"",
        "step | ,'plus':['few'],'measured':-1 | line 1: measured must be above 0, got -1.0",
        "step | ,'plus':['few'],'tolerance':0 | line 1: tolerance must be above 0, got 0.0",
        "step | ,'size':1 | line 1: unknown field \"size\": 1; expected what, quantity, measured,"
      })
  void a_bad_line_is_named(String quantity, String fields, String message) throws IOException {
    assertThat(evaluate(figure(quantity, fields))).isNotZero();
    assertThat(err.toString()).contains(message.strip());
  }

  @Test
  void what_is_missing_is_named() throws IOException {
    Path empty = Files.createFile(folder.resolve("empty.jsonl"));
    assertThat(run("--published=" + empty)).isNotZero();
    assertThat(err.toString()).contains("no figures; expected lines of the form");
    assertThat(run("--published", "--samples=x")).isEqualTo(2);
    assertThat(err.toString())
        .contains("--published must be given without --samples and --predictions");
    assertThat(run()).isEqualTo(2);
    assertThat(err.toString()).contains("Missing required option: '--samples=DIR'");
    Files.delete(folder.resolve("workloads.jsonl"));
    assertThat(evaluate(figure("step", ",'plus':['few']"))).isNotZero();
    assertThat(err.toString()).contains("no workloads.jsonl");
  }

  @Test
  void the_page_is_what_the_code_makes_and_the_shipped_model_passes() throws IOException {
    PublishedFigures made =
        PublishedFigures.of(
            ModelFiles.shippedForH200(),
            FIGURES,
            FIGURES.resolveSibling("workloads.jsonl.gz"),
            LateBar.hidden());
    Files.writeString(MADE, page(made.figures()));
    assertThat(Files.readString(PAGE))
        .as("copy %s to %s if the change is meant", MADE, PAGE)
        .isEqualTo(Files.readString(MADE));
    assertThat(made.wrong()).isEmpty();
  }

  private static String page(List<PublishedFigures.Row> rows) {
    return HEAD
        + "| figure | measured | predicted | error | allowed | | of | source |\n"
        + "|---|---|---|---|---|---|---|---|\n"
        + rows.stream()
            .filter(row -> row.predicted().isPresent())
            .map(
                row ->
                    "| %s | %s | %s %s | %s | %s | %s | %s, %s | %s |%s"
                        .formatted(
                            row.what() + (row.note().isEmpty() ? "" : ". " + row.note()),
                            row.measured().isPresent() ? number(row.measured(), 1) : "above 0",
                            number(row.predicted(), 1),
                            row.unit(),
                            number(row.error(), 100),
                            number(row.tolerance(), 100),
                            row.verdict().label(),
                            row.scope(),
                            row.card(),
                            link(row.source()),
                            "\n"))
            .collect(Collectors.joining())
        + "\nErrors and what is allowed are in percent; where none is allowed, the order counts.\n"
        + "\n## Not compared\n\n| figure | measured | why | source |\n|---|---|---|---|\n"
        + rows.stream()
            .filter(row -> row.predicted().isEmpty())
            .map(
                row ->
                    "| %s, %s (%s) | %s %s | %s | %s |\n"
                        .formatted(
                            row.what(),
                            row.scope(),
                            row.card(),
                            number(row.measured(), 1),
                            row.unit(),
                            row.note(),
                            link(row.source())))
            .collect(Collectors.joining());
  }

  private static String number(OptionalDouble value, double factor) {
    return value.isEmpty()
        ? ""
        : String.format(Locale.ROOT, factor == 1 ? "%.1f" : "%.0f", factor * value.getAsDouble());
  }

  private static String link(String source) {
    return source.startsWith("https://")
        ? "[%s](%s)"
            .formatted(source.replaceFirst(".*/([^/]+)/(?:pull|issues|abs)/", "$1 "), source)
        : source;
  }
}
