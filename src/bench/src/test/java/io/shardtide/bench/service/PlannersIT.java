package io.shardtide.bench.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.bench.Figures;
import io.shardtide.state.PlanningSettings;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many workloads; with several planners, one of them is killed. {@link PlannersRun} measures. */
@Tag("nightly")
class PlannersIT {
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void each_change_has_a_plan_whatever_happens_to_planners(int planners) throws Exception {
    int perSecond = Integer.getInteger("bench.per.second", 5);
    int seconds = Integer.getInteger("bench.seconds", 6);
    Figures figures =
        new PlannersRun(
                Integer.getInteger("bench.workloads", 6),
                Integer.getInteger("bench.tables.least", 5),
                Integer.getInteger("bench.tables", 50),
                planners == 1 ? 1 : Integer.getInteger("bench.planners", planners),
                perSecond,
                seconds,
                Integer.getInteger("bench.heap.mib", 512),
                System.getProperty("java.class.path"))
            .run();
    System.out.println(figures);
    // All are answered, or the run fails.
    assertThat(figures.get("changes")).isEqualTo(perSecond * seconds);
    double debounceMs = PlanningSettings.DEFAULTS.debounce().toNanos() / 1e6;
    assertThat(figures.get("change to plan, median")).isGreaterThan(debounceMs);
    assertThat(figures.get("change to plan, p99"))
        .isGreaterThanOrEqualTo(figures.get("change to plan, median"));
    assertThat(figures.get("heap after collection, end"))
        .as("heap after collection")
        .isLessThan(1.5 * figures.get("heap after collection, start") + 20);
    double workload = figures.get("processor time of a change, folding and predicting");
    double planning = figures.get("processor time of a change, planning");
    assertThat(List.of(workload, planning)).allMatch(ms -> ms > 0);
    assertThat(figures.get("processor time of a change, planners with their compilers"))
        .isGreaterThan(workload + planning);
    for (String size :
        List.of(
            "heap a workload",
            "resident memory, all planners",
            "state of all planners, a workload",
            "disk of the broker, one copy, a workload",
            "one planner restarts, state kept")) {
      assertThat(figures.get(size)).as(size).isPositive();
    }
    assertThat(figures.get("the same, records restored")).isGreaterThan(30);
  }
}
