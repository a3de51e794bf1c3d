package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.bench.MicroBenchmarks;
import io.shardtide.bench.ResidualSeries.ExpectedAlarm;
import io.shardtide.bench.ResidualSeries.SeriesKind;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.PlanningSettings;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Each benchmark runs and reports its figures. Counts are exact; times are only checked for
 * relations that hold on any machine.
 */
class BenchIT {
  private static final Map<String, Double> NANOS =
      Map.of("ns", 1.0, "us", 1e3, "ms", 1e6, "s", 1e9);

  private static String bench(String... options) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    String[] args = new String[options.length + 1];
    args[0] = "bench";
    System.arraycopy(options, 0, args, 1, options.length);
    int status = Shardtide.run(new PrintWriter(out), new PrintWriter(err), args);
    assertThat(status).as(err.toString()).isZero();
    return out.toString();
  }

  /** Returns the cells of all data rows of all tables. */
  private static List<List<String>> rows(String output) {
    List<List<String>> rows = new ArrayList<>();
    boolean inTable = false;
    boolean isHeader = false;
    for (String line : output.lines().toList()) {
      if (line.startsWith("|")) {
        if (!isHeader) {
          List<String> cells = List.of(line.split("\\|", -1));
          rows.add(cells.subList(1, cells.size() - 1).stream().map(String::strip).toList());
        }
        isHeader = false;
      } else {
        isHeader = line.startsWith("+") && !inTable;
        inTable = line.startsWith("+");
        continue;
      }
      inTable = true;
    }
    return rows;
  }

  /** Returns the row with a name, of which there must be one. */
  private static List<String> row(List<List<String>> rows, String name) {
    List<List<String>> found = rows.stream().filter(row -> row.get(0).equals(name)).toList();
    assertThat(found).as("rows \"%s\" of %s", name, rows).hasSize(1);
    return found.get(0);
  }

  private static double number(String cell) {
    return Double.parseDouble(cell.replaceAll("[,%]| %", ""));
  }

  private static double nanos(String time) {
    String[] parts = time.split(" ", -1);
    return number(parts[0]) * NANOS.get(parts[1]);
  }

  @Test
  void every_micro_benchmark_has_a_score() {
    List<List<String>> rows = rows(bench("model", "--brief"));
    assertThat(rows)
        .extracting(row -> row.get(0))
        .containsExactlyElementsOf(
            MicroBenchmarks.names().stream()
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
    // A call of TensorFlow has an overhead of 15 us.
    assertThat(nanos(row(rows, "head").get(1)))
        .isLessThan(nanos(row(rows, "headInTensorFlow").get(1)));
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

  /** Each workload but the poisoned ones has a plan of its last change, or the command fails. */
  @Test
  void workloads_that_harm_a_planner_leave_no_other_without_a_plan() {
    String options = "load --planners 3 --poison --workloads 9 --per-second 5 --seconds 6";
    List<List<String>> rows = rows(bench(options.split(" ", -1)));
    assertThat(row(rows, "changes").get(1)).isEqualTo("30");
    assertThat(row(rows, "lost").get(1)).isEqualTo("0");
    assertThat(row(rows, "poison_slow_search").get(1)).isEqualTo("planned");
    assertThat(row(rows, "poison_odd_schema").get(1)).isEqualTo("rejected, UNKNOWN_SCHEMA");
    assertThat(row(rows, "poison_large_prediction").get(1)).isEqualTo("planned");
    assertThat(row(rows, "poison_model").get(1)).contains("in quarantine");
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

  @Test
  void a_dashboard_on_a_long_log_shows_all_of_it() {
    String options =
        "limits log --changes 1000 --plans 40 --workloads 10 --tables 5 --browsers 1,3 --per-second 20";
    List<List<String>> rows = rows(bench(options.split(" ", -1)));
    assertThat(row(rows, "changes on the log").get(1)).isEqualTo("1,000");
    assertThat(row(rows, "plans on the log").get(1)).isEqualTo("40");
    assertThat(row(rows, "workloads of 5 tables").get(1)).isEqualTo("10");
    double workloads = number(row(rows, "start until all workloads are shown").get(1));
    assertThat(number(row(rows, "start until all tables are shown").get(1)))
        .isGreaterThanOrEqualTo(workloads);
    for (String browsers : List.of("browsers: 1", "browsers: 3")) {
      assertThat(row(rows, browsers + "; refused").get(1)).isEqualTo("0");
      assertThat(row(rows, browsers + "; disconnected").get(1)).isEqualTo("0");
      assertThat(row(rows, browsers + "; updates that did not arrive").get(1)).isEqualTo("0");
    }
  }

  @Test
  void one_workload_is_planned_with_more_and_more_tables() {
    List<List<String>> rows = rows(bench("limits", "tables", "--tables", "50,100"));
    assertThat(rows).extracting(row -> row.get(0)).containsExactly("50", "100");
    for (List<String> row : rows) {
      assertThat(number(row.get(1)))
          .as("the first plan comes after its search")
          .isGreaterThanOrEqualTo(number(row.get(2)));
      assertThat(number(row.get(4)))
          .as("the plan after a change comes after its search")
          .isGreaterThanOrEqualTo(number(row.get(5)));
    }
  }

  @Test
  void many_workloads_are_answered_while_a_planner_is_killed() {
    String options =
        "limits workloads --workloads 6 --tables 5 --planners 2 --heap-mib 256 --per-second 5 --seconds 4";
    List<List<String>> rows = rows(bench(options.split(" ", -1)));
    assertThat(row(rows, "changes").get(1)).isEqualTo("20");
    for (String size :
        List.of(
            "heap a workload",
            "resident memory, all planners",
            "state with its standby copy, a workload",
            "disk of the broker, one copy, a workload",
            "one planner restarts, state kept",
            "one planner restarts, state lost")) {
      assertThat(number(row(rows, size).get(1))).as(size).isPositive();
    }
    assertThat(number(row(rows, "the same, records restored").get(1))).isGreaterThan(30);
  }

  @Test
  void pools_are_allocated_near_the_upper_bound() {
    List<List<String>> rows =
        rows(bench("pool", "--pools", "2", "--workloads", "4", "--devices", "64"));
    assertThat(number(row(rows, "throughput / upper bound").get(2))).isBetween(0.97, 1.0);
    assertThat(number(row(rows, "throughput / equal shares").get(2))).isGreaterThan(0.99);
    assertThat(number(row(rows, "workloads adjusted, one node lost").get(2))).isBetween(0.0, 4.0);
  }

  @Test
  void too_few_changes_are_rejected() {
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(
            new PrintWriter(new StringWriter()),
            new PrintWriter(err),
            "bench",
            "fold",
            "--changes",
            "10");
    assertThat(status).isEqualTo(1);
    assertThat(err.toString()).contains("changes must be at least 10000, got 10");
  }
}
