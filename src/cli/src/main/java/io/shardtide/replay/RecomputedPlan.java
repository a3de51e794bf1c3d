package io.shardtide.replay;

import io.shardtide.plan.ShardingPlan;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningOutcome;
import java.time.InstantSource;
import java.util.Optional;

/**
 * A recomputed plan.
 *
 * @param plan the plan; empty if planning failed
 * @param failure why planning failed; empty text if it did not
 */
record RecomputedPlan(Optional<ShardingPlan> plan, String failure) {
  /**
   * Computes a plan.
   *
   * @param request its inputs
   * @param recorded the recorded plan: the computed one gets its time
   */
  static RecomputedPlan of(Planner.Request request, ShardingPlan recorded) {
    PlanningOutcome outcome =
        new Planner(InstantSource.fixed(recorded.run().createdAt()), () -> 0L).plan(request);
    if (outcome instanceof PlanningOutcome.Planned planned) {
      return new RecomputedPlan(Optional.of(planned.plan()), "");
    }
    if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
      return new RecomputedPlan(
          Optional.empty(), "it does not fit: " + infeasible.workload().shortfall().message());
    }
    return new RecomputedPlan(
        Optional.empty(), ((PlanningOutcome.Failed) outcome).error().toString());
  }
}
