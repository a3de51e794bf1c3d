package io.shardtide.views;

/** A change of the views. */
public sealed interface ViewUpdate {
  /**
   * A workload changed.
   *
   * @param row its new row
   */
  record WorkloadChanged(WorkloadRow row) implements ViewUpdate {}

  /**
   * A workload was deleted.
   *
   * @param workloadId the workload
   */
  record WorkloadRemoved(String workloadId) implements ViewUpdate {}

  /**
   * A pool changed: its nodes, a claim, a curve or its allocation.
   *
   * @param row its new row
   */
  record PoolChanged(PoolRow row) implements ViewUpdate {}

  /**
   * An event was read from the log.
   *
   * @param event the event
   */
  record EventLogged(LogEvent event) implements ViewUpdate {}

  /**
   * The planner's statistics, sent once a second.
   *
   * @param statistics the new statistics
   */
  record StatisticsChanged(PlannerStatistics statistics) implements ViewUpdate {}
}
