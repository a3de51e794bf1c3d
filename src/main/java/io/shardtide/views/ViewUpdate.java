package io.shardtide.views;

/** What changed in the views. */
public sealed interface ViewUpdate {
  /**
   * A workload's row.
   *
   * @param row as it is now
   */
  record WorkloadChanged(WorkloadRow row) implements ViewUpdate {}

  /**
   * Something happened.
   *
   * @param entry what
   */
  record EventLogged(LogEvent entry) implements ViewUpdate {}

  /**
   * How the planner does.
   *
   * @param pulse as it is now
   */
  record StatisticsChanged(PlannerStatistics pulse) implements ViewUpdate {}
}
