package io.shardtide.cli;

import static io.shardtide.cli.BenchOutput.bench;
import static io.shardtide.cli.BenchOutput.number;
import static io.shardtide.cli.BenchOutput.row;
import static io.shardtide.cli.BenchOutput.rows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.state.PlanningSettings;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Benchmarks of the service on a broker run and report their figures, as {@link BenchModelsIT} has
 * it.
 */
@Tag("nightly")
class BenchServiceIT {
  @Test
  void the_components_of_the_latency_add_up() {
    List<List<String>> rows =
        rows(bench("latency", "--models", "small,large", "--changes", "3", "--per-second", "3"));
    int size = rows.size() / 2;
    assertThat(rows).hasSize(2 * size);
    List<String> titles = List.of("26 tables, 16 devices", "612 tables, 128 devices");
    for (int m = 0; m < 2; m++) {
      List<List<String>> model = rows.subList(m * size, (m + 1) * size);
      List<String> total = model.get(0);
      Matcher counts =
          Pattern.compile(titles.get(m) + ": 3 changes in (\\d) plans, none lost")
              .matcher(total.get(0));
      assertThat(counts.matches()).as(total.get(0)).isTrue();
      int plans = Integer.parseInt(counts.group(1));
      assertThat(plans).isLessThanOrEqualTo(3);
      double sum = 0;
      for (List<String> component : model.subList(1, size)) {
        assertThat(number(component.get(2)))
            .as("p99 of %s", component)
            .isGreaterThanOrEqualTo(number(component.get(1)));
        sum += number(component.get(3));
      }
      double debounceMs = PlanningSettings.DEFAULTS.debounce().toNanos() / 1e6;
      assertThat(row(model, "debounce interval").subList(1, 4))
          .containsOnly(String.format(Locale.ROOT, "%.1f", debounceMs));
      assertThat(number(row(model, "TensorFlow").get(1))).isPositive();
      assertThat(number(total.get(3))).isGreaterThan(debounceMs);
      if (plans == 3) {
        // Each of the seven means is rounded, and createdAt has a resolution of 1 ms.
        assertThat(sum).isCloseTo(number(total.get(3)), within(1.5));
      }
    }
  }

  @Test
  void load_answers_every_change() {
    List<List<String>> rows =
        rows(bench("load", "--workloads", "5", "--per-second", "20", "--seconds", "3"));
    assertThat(row(rows, "workloads of 26 to 300 tables").get(1)).isEqualTo("5");
    assertThat(row(rows, "changes").get(1)).isEqualTo("60");
    assertThat(row(rows, "lost").get(1)).isEqualTo("0");
    assertThat(number(row(rows, "plans, including the first").get(1))).isBetween(6.0, 85.0);
    assertThat(row(rows, "infeasible workloads").get(1)).isEqualTo("0");
    double median = number(row(rows, "change to plan, median").get(1));
    double p99 = number(row(rows, "change to plan, p99").get(1));
    assertThat(median).isGreaterThan(PlanningSettings.DEFAULTS.debounce().toNanos() / 1e6);
    assertThat(p99).isGreaterThanOrEqualTo(median);
    assertThat(number(row(rows, "change to plan, maximum").get(1))).isGreaterThanOrEqualTo(p99);
    for (String time : List.of("start", "middle", "end")) {
      assertThat(number(row(rows, "heap after collection, " + time).get(1))).isGreaterThan(10);
    }
    assertThat(number(row(rows, "heap after collection, slope").get(1))).isFinite();
    double workload = number(row(rows, time("folding and predicting")).get(1));
    double planning = number(row(rows, time("planning")).get(1));
    assertThat(workload).isPositive();
    assertThat(planning).isPositive();
    assertThat(number(row(rows, time("all threads, including the broker")).get(1)))
        .isGreaterThan(workload + planning);
  }

  private static String time(String threads) {
    return "processor time per change, " + threads;
  }

  @Test
  void fold_counts_every_change() {
    List<List<String>> rows =
        rows(bench("fold", "--changes", "10000", "--workloads", "3", "--tables", "10"));
    assertThat(rows).extracting(row -> row.get(1)).containsExactly("10,000", "1,000");
    for (List<String> row : rows) {
      double seconds = number(row.get(2));
      double perSecond = number(row.get(3));
      assertThat(perSecond * seconds)
          .as(row.toString())
          .isCloseTo(number(row.get(1)), within(0.05 * perSecond + seconds));
      assertThat(number(row.get(4))).as("second half").isPositive();
      assertThat(number(row.get(5))).as("planner thread").isPositive();
      assertThat(number(row.get(6))).as("all threads").isGreaterThan(number(row.get(5)));
    }
  }

  @Test
  void restart_is_measured_with_and_without_local_state() {
    List<List<String>> rows = rows(bench("restart", "--workloads", "3", "--tables", "10"));
    assertThat(rows)
        .extracting(row -> row.get(0))
        .containsExactly(
            "3 workloads of 10 tables, state kept",
            "3 workloads of 10 tables, state from the changelog");
    assertThat(rows)
        .allSatisfy(
            row -> {
              assertThat(number(row.get(1))).as("seconds").isPositive();
              assertThat(number(row.get(2))).as("MiB of state").isNotNegative();
            });
  }
}
