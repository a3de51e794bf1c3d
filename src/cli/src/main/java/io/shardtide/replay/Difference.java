package io.shardtide.replay;

import io.shardtide.growth.GrowthInputs;
import io.shardtide.growth.TableForecasts;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Allocation;
import io.shardtide.workload.CanonicalHash;
import java.util.List;

/**
 * A recorded plan, allocation or forecast that was not reproduced.
 *
 * @param owner the workload or the pool
 * @param generation its generation
 * @param id the recorded plan or allocation; of forecasts, the report that they follow
 * @param explanation what is known of the cause, for people
 * @param inputs what the record says it was made from, for people
 * @param fields one line per different field: its name, the recorded and the recomputed value; none
 *     if an input is missing
 */
public record Difference(
    String owner,
    long generation,
    String id,
    String explanation,
    String inputs,
    List<String> fields) {
  /** Copies the list. */
  public Difference {
    fields = List.copyOf(fields);
  }

  static Difference of(ShardingPlan plan, String explanation, List<String> fields) {
    return new Difference(
        plan.workloadId(),
        plan.generation(),
        plan.planId(),
        explanation,
        "the predictions of generation %d by model %s, running plan %s, slow devices %s, %s, %s"
            .formatted(
                plan.generation(),
                CanonicalHash.shown(plan.origin().modelId()),
                plan.origin().previousPlanId().map(CanonicalHash::shown).orElse("none"),
                plan.origin().slow().isEmpty() ? "none" : plan.origin().slow(),
                plan.origin().effort(),
                plan.origin().settings()),
        fields);
  }

  static Difference of(TableForecasts forecasts, String explanation, List<String> fields) {
    return new Difference(
        forecasts.workloadId(),
        forecasts.generation(),
        forecasts.reportId(),
        explanation,
        "the report of %s, those before it, the tables of generation %d, %s"
            .formatted(
                forecasts.measuredAt(),
                forecasts.generation(),
                forecasts.inputs().map(GrowthInputs::policy).orElseThrow()),
        fields);
  }

  static Difference of(Allocation allocation, String explanation, List<String> fields) {
    return new Difference(
        allocation.poolId(),
        allocation.generation(),
        allocation.allocationId(),
        explanation,
        "the pool's events up to generation %d, curves %s, previous allocation %s, %s"
            .formatted(
                allocation.generation(),
                allocation.curveIds(),
                allocation.previousId().map(CanonicalHash::shown).orElse("none"),
                allocation.policy()),
        fields);
  }
}
