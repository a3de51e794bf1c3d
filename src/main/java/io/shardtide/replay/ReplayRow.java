package io.shardtide.replay;

import io.shardtide.domain.Effort;
import io.shardtide.domain.ShardingPlan;
import java.util.Comparator;
import java.util.Optional;

/**
 * One line of what a replay says.
 *
 * @param workloadId the workload
 * @param firstGeneration the first generation that the plan answers
 * @param generation the last
 * @param planId the plan on record or, without one, the one that was made; empty for none
 * @param effort how long was searched; empty for no plan
 * @param verdict how they compare
 */
public record ReplayRow(
    String workloadId,
    long firstGeneration,
    long generation,
    Optional<String> planId,
    Optional<Effort> effort,
    Verdict verdict) {
  /** By workload; of one workload as they were recorded. */
  static final Comparator<ReplayRow> BY_WORKLOAD = Comparator.comparing(ReplayRow::workloadId);

  static ReplayRow of(ShardingPlan plan, Verdict verdict) {
    return new ReplayRow(
        plan.workloadId(),
        plan.firstGeneration(),
        plan.generation(),
        Optional.of(plan.planId()),
        Optional.of(plan.effort()),
        verdict);
  }
}
