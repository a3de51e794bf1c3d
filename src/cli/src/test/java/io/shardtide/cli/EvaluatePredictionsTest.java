package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code evaluate --predictions}, with the published measurements of another hardware. */
class EvaluatePredictionsTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @Test
  void each_computation_has_its_measured_and_predicted_milliseconds(@TempDir Path folder)
      throws IOException {
    Path file = folder.resolve("predictions.jsonl");
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(
            new PrintWriter(out),
            new PrintWriter(err),
            "evaluate",
            "--samples",
            "models/samples/h100-published",
            "--model",
            "models/h200.avro",
            "--predictions",
            file.toString());
    assertThat(status).as(err.toString()).isZero();
    JsonNode compute = JSON.readTree(out.toString()).get("compute");
    List<JsonNode> points = new ArrayList<>();
    double errors = 0;
    for (String line : Files.readAllLines(file)) {
      JsonNode point = JSON.readTree(line);
      points.add(point);
      double measured = point.get("measured_ms").doubleValue();
      double predicted = point.get("predicted_ms").doubleValue();
      errors += Math.abs(predicted - measured) / measured;
      assertThat(sum(point, "measured")).isCloseTo(measured, Percentage.withPercentage(1e-6));
      assertThat(sum(point, "predicted")).isCloseTo(predicted, Percentage.withPercentage(1e-6));
      assertThat(point.get("shards").intValue()).isEqualTo(10);
    }
    assertThat(points).extracting(point -> point.get("sample").intValue()).hasSize(8).isSorted();
    assertThat(errors / 8)
        .isCloseTo(compute.get("mape").doubleValue(), Percentage.withPercentage(1e-6))
        .as("of the documented size")
        .isBetween(0.2, 0.8);
    for (JsonNode point : points.subList(0, 2)) {
      assertThat(point.get("predicted_ms").doubleValue())
          .as("tables in device memory")
          .isCloseTo(point.get("measured_ms").doubleValue(), Percentage.withPercentage(20));
    }
  }

  /** The page has places for its data and for the library that draws it. */
  @Test
  void a_table_may_be_named_as_a_place_of_the_page(@TempDir Path folder) throws IOException {
    Path samples = Path.of("models/samples/h100-published");
    for (String name : List.of("tables.jsonl", "compute.jsonl")) {
      Files.writeString(
          folder.resolve(name),
          Files.readString(samples.resolve(name)).replace("\"t0\"", "\"/*ECHARTS*/\""));
    }
    Path report = folder.resolveSibling(folder.getFileName() + ".html");
    StringWriter err = new StringWriter();
    assertThat(
            Shardtide.run(
                new PrintWriter(new StringWriter()),
                new PrintWriter(err),
                "evaluate",
                "--samples=" + folder,
                "--model=models/h200.avro",
                "--report=" + report))
        .as(err.toString())
        .isZero();
    String page = Files.readString(report);
    Files.delete(report);
    assertThat(page).contains("/*ECHARTS*/ x ").hasSizeLessThan(3_000_000);
  }

  private static double sum(JsonNode point, String what) {
    return point.get(what + "_forward_ms").doubleValue()
        + point.get(what + "_backward_ms").doubleValue();
  }
}
