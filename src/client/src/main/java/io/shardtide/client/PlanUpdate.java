package io.shardtide.client;

import io.shardtide.plan.PlanDiff;
import io.shardtide.plan.ShardingPlan;
import java.util.Optional;

/**
 * A new plan of a workload, with the plan that this subscriber received before it.
 *
 * @param plan the plan. Its {@link ShardingPlan#transition moves} lead from the plan that a trainer
 *     adopted last, which need not be {@code previous}
 * @param previous the workload's plan that this subscriber received before; empty the first time
 */
public record PlanUpdate(ShardingPlan plan, Optional<ShardingPlan> previous) {
  /** Returns the difference from {@code previous}; empty the first time. */
  public Optional<PlanDiff> diff() {
    return previous.map(earlier -> PlanDiff.between(earlier, plan));
  }
}
