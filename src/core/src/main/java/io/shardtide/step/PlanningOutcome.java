package io.shardtide.step;

import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.SourcePosition;

/** The outcome of planning a generation. */
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
   * An internal error; the last good plan stays, and other workloads are not affected.
   *
   * @param source where the change that was planned lies in the log
   * @param error the error
   */
  record Failed(SourcePosition source, RuntimeException error) implements PlanningOutcome {}
}
