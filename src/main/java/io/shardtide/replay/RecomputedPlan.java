package io.shardtide.replay;

import io.shardtide.domain.ShardingPlan;
import io.shardtide.planning.Planner;
import io.shardtide.planning.PlanningOutcome;
import java.time.InstantSource;
import java.util.Optional;

/**
 * A recomputed plan.
 *
 * @param request its inputs
 * @param plan the plan; empty if planning failed
 * @param failure why planning failed; empty text if it did not
 */
record RecomputedPlan(Planner.Request request, Optional<ShardingPlan> plan, String failure) {
  /**
   * Computes a plan.
   *
   * @param request its inputs
   * @param recorded the recorded plan: the computed one gets its time and its format
   */
  static RecomputedPlan of(Planner.Request request, ShardingPlan recorded) {
    PlanningOutcome outcome =
        new Planner(InstantSource.fixed(recorded.createdAt()), () -> 0L).plan(request);
    if (outcome instanceof PlanningOutcome.Planned planned) {
      int format = recorded.format().orElse(ShardingPlan.FORMAT);
      return new RecomputedPlan(
          request,
          Optional.of(
              format == ShardingPlan.FORMAT
                  ? planned.plan()
                  : planned.plan().inFormat(format, recorded.reason())),
          "");
    }
    if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
      return new RecomputedPlan(
          request,
          Optional.empty(),
          "it does not fit: " + infeasible.workload().shortfall().message());
    }
    return new RecomputedPlan(
        request, Optional.empty(), ((PlanningOutcome.Failed) outcome).error().toString());
  }

  /** Returns whether there is a plan and it has this id. */
  boolean hasId(String id) {
    return plan.filter(p -> p.planId().equals(id)).isPresent();
  }
}
