package io.shardtide.cli;

import static io.shardtide.cli.BenchOutput.bench;
import static io.shardtide.cli.BenchOutput.number;
import static io.shardtide.cli.BenchOutput.row;
import static io.shardtide.cli.BenchOutput.rows;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code bench limits}, and what harms a planner, as {@link BenchModelsIT} has it. */
@Tag("nightly")
class BenchLimitsIT {
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
}
