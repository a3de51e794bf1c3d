package io.shardtide.bench.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.bench.Figures;
import io.shardtide.bench.service.LatencyBenchmark.ModelSize;
import io.shardtide.state.PlanningSettings;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@code bench latency}. */
@Tag("nightly")
class LatencyIT {
  @ParameterizedTest
  @EnumSource
  void the_components_of_the_latency_add_up(ModelSize size) throws Exception {
    Figures figures = LatencyBenchmark.run(List.of(size), 3, 3, done -> {});
    System.out.println(figures);
    Matcher total =
        Pattern.compile("(26|612) tables, \\d+ devices: 3 changes in (\\d) plans, none lost")
            .matcher(figures.toString());
    assertThat(total.find()).as(figures.toString()).isTrue();
    int plans = Integer.parseInt(total.group(2));
    assertThat(plans).isLessThanOrEqualTo(3);
    String prefix = total.group(1) + " tables: ";
    double sum = 0;
    for (String stage :
        List.of(
            "change to model: Kafka, decoding, stores",
            "TensorFlow",
            "predictions to planner: Kafka, encoding, stores",
            "debounce interval",
            "debounce to search: next tick, reading stores",
            "search",
            "search to readable plan: Kafka, encoding, stores")) {
      assertThat(figures.get(prefix + stage, 1))
          .as("p99 of %s", stage)
          .isGreaterThanOrEqualTo(figures.get(prefix + stage));
      sum += figures.get(prefix + stage, 2);
    }
    double debounceMs = PlanningSettings.DEFAULTS.debounce().toNanos() / 1e6;
    assertThat(figures.get(prefix + "debounce interval")).isEqualTo(debounceMs);
    assertThat(figures.get(prefix + "TensorFlow")).isPositive();
    assertThat(figures.get(total.group(), 2)).isGreaterThan(debounceMs);
    if (plans == 3) {
      // createdAt has a resolution of 1 ms.
      assertThat(sum).isCloseTo(figures.get(total.group(), 2), within(1.0));
    }
  }
}
