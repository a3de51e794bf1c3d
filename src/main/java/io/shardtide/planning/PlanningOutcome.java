package io.shardtide.planning;

import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.SourcePosition;

/** What planning a generation came to. */
public sealed interface PlanningOutcome {
  /**
   * A plan.
   *
   * @param plan the plan
   */
  record Planned(ShardingPlan plan) implements PlanningOutcome {}

  /**
   * No plan; the last good one stays.
   *
   * @param workload what does not fit
   */
  record Infeasible(InfeasibleWorkload workload) implements PlanningOutcome {}

  /**
   * An error of Shardtide's own; the last good plan stays, and other workloads go on.
   *
   * @param source where the change that was to be answered lies in the log
   * @param error what happened
   */
  record Failed(SourcePosition source, RuntimeException error) implements PlanningOutcome {}
}
