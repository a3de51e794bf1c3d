package io.shardtide.client;

import io.shardtide.domain.PlanDiff;
import io.shardtide.domain.ShardingPlan;
import java.util.Objects;
import java.util.Optional;

/**
 * A workload's latest plan, and what this subscriber heard before it.
 *
 * @param plan the plan; its {@link ShardingPlan#moves} are counted from the plan that was adopted
 *     last, with their bytes and an order that keeps every device within its memory
 * @param previous the plan of this workload that was heard before; empty the first time
 */
public record PlanUpdate(ShardingPlan plan, Optional<ShardingPlan> previous) {
  /** Checks that nothing is missing. */
  public PlanUpdate {
    Objects.requireNonNull(plan, "plan");
    Objects.requireNonNull(previous, "previous");
  }

  /** Returns what differs from the plan that was heard before; empty the first time. */
  public Optional<PlanDiff> diff() {
    return previous.map(earlier -> PlanDiff.between(earlier, plan));
  }
}
