package io.shardtide.cli;

import static io.shardtide.cli.BenchOutput.bench;
import static io.shardtide.cli.BenchOutput.number;
import static io.shardtide.cli.BenchOutput.row;
import static io.shardtide.cli.BenchOutput.rows;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code bench limits workloads}: many workloads, and planners that restart. */
@Tag("nightly")
class BenchWorkloadsIT {
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
}
