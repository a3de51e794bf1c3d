package io.shardtide.cli;

import static io.shardtide.cli.BenchOutput.bench;
import static io.shardtide.cli.BenchOutput.nanos;
import static io.shardtide.cli.BenchOutput.number;
import static io.shardtide.cli.BenchOutput.row;
import static io.shardtide.cli.BenchOutput.rows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.bench.DetectorKind;
import io.shardtide.bench.MicroBenchmarks;
import io.shardtide.bench.ResidualSeries.ExpectedAlarm;
import io.shardtide.bench.ResidualSeries.SeriesKind;
import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Benchmarks of models, detectors and pools run and report their figures. Counts are exact; times
 * are only checked for relations that hold on any machine.
 */
@Tag("nightly")
class BenchModelsIT {
  @ParameterizedTest
  @ValueSource(strings = {"models/simulated.avro", "models/h200.avro"})
  void every_micro_benchmark_of_a_model_has_a_score(Path model) throws IOException {
    ModelBundle bundle = ModelFiles.read(model);
    List<List<String>> rows = rows(bench("model", "--brief", "--model", model.toString()));
    assertThat(rows)
        .extracting(row -> row.get(0))
        .containsExactlyElementsOf(
            MicroBenchmarks.names(bundle).stream()
                .map(name -> name.substring(name.lastIndexOf('.') + 1))
                .toList());
    assertThat(rows)
        .allSatisfy(
            row -> {
              double nanos = nanos(row.get(1));
              assertThat(nanos).isPositive();
              // Both are rounded: 0.1 of the unit and 1 per second.
              assertThat(number(row.get(3))).isCloseTo(1e9 / nanos, within(0.06e9 / nanos + 1));
            });
    if (bundle.launches().isEmpty()) {
      // A call of TensorFlow has an overhead of 15 us.
      assertThat(nanos(row(rows, "head").get(1)))
          .isLessThan(nanos(row(rows, "headInTensorFlow").get(1)));
    }
  }

  @Test
  void every_detector_is_run_on_every_kind_of_series() {
    List<List<String>> rows = rows(bench("detectors", "--series", "2"));
    List<String> expected = new ArrayList<>();
    for (DetectorKind detector : DetectorKind.values()) {
      for (SeriesKind kind : SeriesKind.values()) {
        expected.add(detector.key() + ", " + kind.title());
      }
    }
    assertThat(rows)
        .extracting(row -> row.get(0) + ", " + row.get(1))
        .containsExactlyElementsOf(expected);
    for (List<String> row : rows) {
      SeriesKind kind =
          Arrays.stream(SeriesKind.values())
              .filter(k -> k.title().equals(row.get(1)))
              .findFirst()
              .orElseThrow();
      if (kind.expected() == ExpectedAlarm.NONE) {
        assertThat(row.subList(2, 4)).as(row.toString()).containsOnly("");
      } else {
        // The series are seeded: every detector detects every change of these.
        assertThat(row.get(2)).as(row.toString()).isEqualTo("100");
        assertThat(number(row.get(3))).as(row.toString()).isBetween(1.0, 200.0);
      }
      assertThat(number(row.get(4))).as(row.toString()).isBetween(0.0, 50.0);
      assertThat(number(row.get(5))).as(row.toString()).isPositive();
    }
  }

  @Test
  void pools_are_allocated_near_the_upper_bound() {
    List<List<String>> rows =
        rows(bench("pool", "--pools", "2", "--workloads", "4", "--devices", "64"));
    assertThat(number(row(rows, "throughput / upper bound").get(2))).isBetween(0.97, 1.0);
    assertThat(number(row(rows, "throughput / equal shares").get(2))).isGreaterThan(0.99);
    assertThat(number(row(rows, "workloads adjusted, one node lost").get(2))).isBetween(0.0, 4.0);
  }
}
