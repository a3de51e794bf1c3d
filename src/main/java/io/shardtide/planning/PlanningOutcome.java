package io.shardtide.planning;

import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.ShardingPlan;

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
}
