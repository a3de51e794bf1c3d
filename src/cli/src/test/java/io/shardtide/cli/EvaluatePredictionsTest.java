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
    JsonNode compute = JSON.readTree(out.toString()).get("errors").get(0);
    assertThat(compute.get("cost").textValue()).isEqualTo("compute");
    assertThat(compute.get("of").textValue()).isEqualTo("all");
    List<JsonNode> points = new ArrayList<>();
    double errors = 0;
    for (String line : Files.readAllLines(file)) {
      JsonNode point = JSON.readTree(line);
      points.add(point);
      double measured = point.get("measuredMs").doubleValue();
      double predicted = point.get("predictedMs").doubleValue();
      errors += Math.abs(predicted - measured) / measured;
      assertThat(point.get("measuredForwardMs").doubleValue()).isBetween(0.1 * measured, measured);
      assertThat(point.get("predictedForwardMs").doubleValue())
          .isBetween(0.1 * predicted, predicted);
      assertThat(point.get("shards").intValue()).isEqualTo(10);
    }
    assertThat(points).extracting(point -> point.get("sample").intValue()).hasSize(8).isSorted();
    assertThat(errors / 8)
        .isCloseTo(compute.get("mape").doubleValue(), Percentage.withPercentage(1e-6))
        .as("of the documented size")
        .isBetween(0.2, 0.8);
    for (JsonNode point : points.subList(0, 2)) {
      assertThat(point.get("predictedMs").doubleValue())
          .as("tables in device memory")
          .isCloseTo(point.get("measuredMs").doubleValue(), Percentage.withPercentage(20));
    }
  }

  /** What a user of 0.2 types finds its way, and the page has a successor. */
  @Test
  void the_page_that_was_is_named() {
    StringWriter err = new StringWriter();
    assertThat(
            Shardtide.run(
                new PrintWriter(new StringWriter()),
                new PrintWriter(err),
                "evaluate",
                "--samples=models/samples/h100-published",
                "--report=page.html"))
        .isEqualTo(2);
    assertThat(err.toString())
        .startsWith(
            "shardtide: there is no option --report; the text has its tables, and -o json their numbers");
  }

  @Test
  void people_get_errors_by_group_and_the_largest_ones() {
    StringWriter out = new StringWriter();
    assertThat(
            Shardtide.run(
                new PrintWriter(out),
                new PrintWriter(new StringWriter()),
                "model",
                "evaluate",
                "--samples=models/samples/h100-published",
                "--model=models/h200.avro"))
        .isZero();
    assertThat(out.toString())
        .startsWith("model fc8d9cef62aa")
        .contains(" for hardware h200\ncost     samples of ")
        .containsPattern("compute +all +8 +█+ +5\\d\\.\\d\\d% +\\d+\\.\\d\\d% +1\\.0000 ")
        .containsPattern("compute +from 1,000,000 rows +2 ")
        .containsPattern("compute +from 8 shards +8 ")
        .containsPattern("compute +inside the training range +8 ");
    assertThat(out.toString().lines().skip(11).limit(2).toList())
        .satisfiesExactly(
            head -> assertThat(head).startsWith("cost     sample  measured ms  predicted ms"),
            worst ->
                assertThat(worst).matches("compute +6 +4\\.146 +1\\d\\.\\d{3} .*u0 x 128, .*"));
  }
}
