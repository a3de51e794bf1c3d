package io.shardtide.replay;

import io.shardtide.plan.Effort;
import io.shardtide.plan.ShardingPlan;
import java.util.Comparator;
import java.util.Optional;

/**
 * A record in the result of a replay, or generations without a plan.
 *
 * @param workloadId the workload; of an allocation, the pool
 * @param firstGeneration the first generation that it covers
 * @param generation the last generation that it covers
 * @param planId the recorded plan, otherwise the computed one; empty without a plan
 * @param effort effort of the search; empty without a plan
 * @param verdict how the recomputed record compares with the recorded one
 */
public record ReplayRow(
    String workloadId,
    long firstGeneration,
    long generation,
    Optional<String> planId,
    Optional<Effort> effort,
    Verdict verdict) {
  /** By workload, otherwise in the order of the log. */
  static final Comparator<ReplayRow> BY_WORKLOAD = Comparator.comparing(ReplayRow::workloadId);

  /** A row without a plan. */
  ReplayRow(String owner, long first, long last, Verdict verdict) {
    this(owner, first, last, Optional.empty(), Optional.empty(), verdict);
  }

  ReplayRow(ShardingPlan plan, Verdict verdict) {
    this(
        plan.workloadId(),
        plan.origin().firstGeneration(),
        plan.generation(),
        Optional.of(plan.planId()),
        Optional.of(plan.origin().effort()),
        verdict);
  }
}
