package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.Accuracy;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.files.OutputFile;
import io.shardtide.plan.OutOfRange;
import io.shardtide.web.ECharts;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Writes an evaluation as one HTML file with charts, which needs no network. */
final class EvaluationReport {
  private static final String PAGE = "evaluation.html";

  private static final int WORST_SAMPLES = 20;
  private static final int SHOWN_OUT_OF_RANGE = 2;

  private final ModelBundle bundle;
  private final Evaluation evaluation;
  private final ObjectNode summary;

  /**
   * @param summary the errors, as they are printed
   */
  EvaluationReport(ModelBundle bundle, Evaluation evaluation, ObjectNode summary) {
    this.bundle = bundle;
    this.evaluation = evaluation;
    this.summary = summary;
  }

  /**
   * Writes the report.
   *
   * @param file the file; its folder is created
   * @param source name of the samples
   */
  void write(Path file, String source) throws IOException {
    ObjectNode report = JsonNodeFactory.instance.objectNode();
    report.set("summary", summary);
    report.put("samples", source);
    report.put("description", bundle.describe());
    report.set("points", points());
    ObjectNode buckets = report.putObject("buckets");
    buckets.set(
        "tables", computations(c -> c.sample().shards().size(), size -> Integer.toString(size)));
    buckets.set("rows", computations(this::decadeOfRows, EvaluationReport::decade));
    buckets.set("collectives", collectives());
    ObjectNode worst = report.putObject("worst");
    worst.set("computations", worstComputations());
    worst.set("collectives", worstCollectives());
    // In a script, "<" could end it.
    String json = report.toString().replace("<", "\\u003c");
    String charts = new String(ECharts.script(), StandardCharsets.UTF_8);
    // The data last: it may contain what the library replaces.
    String page =
        page()
            .replace("/*ECHARTS*/", charts.replace("</script", "<\\/script"))
            .replace("/*REPORT*/null", json);
    OutputFile.write(file, page);
  }

  private static String page() throws IOException {
    try (InputStream in = EvaluationReport.class.getResourceAsStream(PAGE)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private ObjectNode points() {
    ObjectNode points = JsonNodeFactory.instance.objectNode();
    for (Evaluation.ComputePrediction c : evaluation.computations()) {
      points
          .withArray(c.familiarity().name().toLowerCase(Locale.ROOT))
          .addArray()
          .add(rounded(c.sample().computeMs()))
          .add(rounded(c.predictedMs()));
    }
    return points;
  }

  /** Rounds to four digits, which is finer than the chart. */
  private static double rounded(double value) {
    return Double.parseDouble(String.format(Locale.ROOT, "%.4g", value));
  }

  private ArrayNode computations(
      Function<Evaluation.ComputePrediction, Integer> bucket, Function<Integer, String> label) {
    SortedMap<Integer, List<Evaluation.ComputePrediction>> grouped =
        evaluation.computations().stream()
            .collect(Collectors.groupingBy(bucket, TreeMap::new, Collectors.toList()));
    ArrayNode rows = JsonNodeFactory.instance.arrayNode();
    grouped.forEach(
        (key, list) -> {
          Accuracy.Compute errors = Accuracy.ofComputations(list);
          rows.addObject()
              .put("label", label.apply(key))
              .put("mape", errors.mape())
              .put("p99", errors.p99RelativeError());
        });
    return rows;
  }

  /** Returns the rows of the largest table in half decades: 10 is 10^5 to 10^5.5 rows. */
  private int decadeOfRows(Evaluation.ComputePrediction computation) {
    double rows =
        computation.sample().shards().stream()
            .mapToLong(shard -> shard.table().rows())
            .max()
            .orElse(1);
    return (int) Math.floor(2 * Math.log10(rows));
  }

  private static String decade(int half) {
    String[] units = {"", "k", "M", "G", "T"};
    int thousands = half / 6;
    double from = Math.pow(10, (half - 6 * thousands) / 2.0);
    double to = Math.pow(10, (half - 6 * thousands + 1) / 2.0);
    return "%.0f-%.0f%s".formatted(from, to, units[Math.min(thousands, units.length - 1)]);
  }

  /** Returns the errors of each collective, a row for each number of devices. */
  private ArrayNode collectives() {
    ArrayNode rows = JsonNodeFactory.instance.arrayNode();
    evaluation.collectives().stream()
        .collect(
            Collectors.groupingBy(c -> c.sample().devices(), TreeMap::new, Collectors.toList()))
        .forEach(
            (devices, list) -> {
              ObjectNode row = rows.addObject().put("label", devices.toString());
              list.stream()
                  .collect(
                      Collectors.groupingBy(
                          c -> c.sample().shown(), TreeMap::new, Collectors.toList()))
                  .forEach((name, some) -> row.put(name, Accuracy.ofCollectives(some).mape()));
            });
    return rows;
  }

  private ArrayNode worstComputations() {
    ArrayNode rows = JsonNodeFactory.instance.arrayNode();
    evaluation.computations().stream()
        .sorted(Comparator.comparingDouble(Evaluation.ComputePrediction::error).reversed())
        .limit(WORST_SAMPLES)
        .forEach(
            c ->
                rows.addObject()
                    .put("number", c.number())
                    .put("tables", tables(c))
                    .put("measured", c.sample().computeMs())
                    .put("predicted", c.predictedMs())
                    .put("error", c.error())
                    .put("outside", outOfRange(c.outOfRange())));
    return rows;
  }

  private String tables(Evaluation.ComputePrediction computation) {
    return computation.sample().shards().stream()
        .map(shard -> shard.table().name() + " x " + shard.table().columns())
        .collect(Collectors.joining(", "));
  }

  private ArrayNode worstCollectives() {
    ArrayNode rows = JsonNodeFactory.instance.arrayNode();
    evaluation.collectives().stream()
        .sorted(Comparator.comparingDouble(Evaluation.CollectivePrediction::error).reversed())
        .limit(WORST_SAMPLES)
        .forEach(
            c ->
                rows.addObject()
                    .put("number", c.number())
                    .put("collective", c.sample().shown())
                    .put("devices", c.sample().devices())
                    .put("nodes", "%d a node".formatted(c.sample().devicesPerNode()))
                    .put("bytes", bytes(c.sample().bytes()))
                    .put("error", c.error())
                    .put("outside", outOfRange(c.outOfRange())));
    return rows;
  }

  private static String bytes(double[] bytes) {
    double least = Arrays.stream(bytes).min().orElseThrow();
    double most = Arrays.stream(bytes).max().orElseThrow();
    return least == most ? "%.0f".formatted(most) : "%.0f to %.0f".formatted(least, most);
  }

  private static String outOfRange(List<OutOfRange> values) {
    String shown =
        values.stream()
            .sorted(OutOfRange.ORDER)
            .limit(SHOWN_OUT_OF_RANGE)
            .map(OutOfRange::describe)
            .collect(Collectors.joining("; "));
    return values.size() > SHOWN_OUT_OF_RANGE
        ? shown + " and %d more".formatted(values.size() - SHOWN_OUT_OF_RANGE)
        : shown;
  }
}
