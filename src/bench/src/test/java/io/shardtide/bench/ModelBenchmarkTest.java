package io.shardtide.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.models.ModelFiles;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Prints the times of {@link ModelBenchmark} and {@link ColdLoadBenchmark}: one short run of each,
 * or what JMH needs, in processes of its own, with {@code -Dbench.forks=1}.
 */
@Tag("nightly")
class ModelBenchmarkTest {
  private static final int FORKS = Integer.getInteger("bench.forks", 0);

  @ParameterizedTest
  @ValueSource(strings = {"models/simulated.avro", "models/h200.avro"})
  void every_micro_benchmark_of_a_model_has_a_score(Path model) throws Exception {
    boolean hasHead = ModelFiles.read(model).launches().isEmpty();
    ChainedOptionsBuilder options =
        new OptionsBuilder()
            .include(ModelBenchmark.class.getSimpleName() + ".*")
            // TensorFlow has no head of models with launch groups.
            .exclude(hasHead ? "none" : "headInTensorFlow.*")
            .param("model", model.toString())
            .verbosity(VerboseMode.SILENT)
            .forks(FORKS);
    if (FORKS == 0) {
      options.warmupIterations(0).measurementIterations(1);
      options.measurementTime(TimeValue.milliseconds(100));
    }
    Map<String, Double> nanos =
        new Runner(options.build())
            .run().stream()
                .collect(
                    Collectors.toMap(
                        result -> result.getPrimaryResult().getLabel(),
                        result -> result.getPrimaryResult().getScore()));
    nanos.put(
        "loadCold",
        new Runner(
                new OptionsBuilder()
                    .include(ColdLoadBenchmark.class.getSimpleName())
                    .param("model", model.toString())
                    .verbosity(VerboseMode.SILENT)
                    .forks(1)
                    .build())
            .runSingle()
            .getPrimaryResult()
            .getScore());
    Figures figures = new Figures(model.toString(), "mean | a second");
    nanos.forEach((name, ns) -> figures.add(name, "%,.1f us | %,.0f", ns / 1e3, 1e9 / ns));
    System.out.println(figures);
    assertThat(nanos)
        .hasSize(hasHead ? 8 : 6)
        .allSatisfy((name, ns) -> assertThat(ns).isPositive());
    if (hasHead) {
      // A call of TensorFlow has an overhead of 15 us.
      assertThat(nanos.get("head")).isLessThan(nanos.get("headInTensorFlow"));
    }
  }
}
