package io.shardtide.views;

import io.shardtide.domain.Bottleneck;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.Effort;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardingPlan;
import java.time.Instant;
import java.util.Comparator;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A plan in a line.
 *
 * @param planId the plan's id
 * @param workloadId its workload
 * @param generation the generation that it is for
 * @param firstGeneration the first generation that it answers
 * @param effort how long was searched
 * @param modelId the cost model whose predictions were used
 * @param previousPlanId the plan that ran when it was made
 * @param reason why it was made, for people
 * @param createdAt when it was made
 * @param answeredMs from the last change that it answers being written to the plan being written,
 *     in milliseconds; empty if that change was written before the dashboard began to read
 * @param predictedMs predicted cost of a step, in milliseconds
 * @param beforeMs that of the plan that ran; empty if it is not among those that are remembered
 * @param lowerBoundMs no plan costs less, in milliseconds
 * @param devices number of devices
 * @param tables number of tables
 * @param shards number of shards
 * @param moves number of moves
 * @param movedBytes bytes that they carry
 * @param imbalance how much later than the mean the last device begins the forward exchange, as a
 *     share of the mean; 0 if all begin at once
 * @param bottleneck what a step waits for
 * @param evaluations predicted costs that the search asked for
 * @param searchMillis how long it took, in milliseconds
 * @param fate what the trainer last said of it
 */
public record PlanSummary(
    String planId,
    String workloadId,
    long generation,
    long firstGeneration,
    Effort effort,
    String modelId,
    Optional<String> previousPlanId,
    String reason,
    Instant createdAt,
    OptionalDouble answeredMs,
    double predictedMs,
    OptionalDouble beforeMs,
    double lowerBoundMs,
    int devices,
    int tables,
    int shards,
    int moves,
    long movedBytes,
    double imbalance,
    Bottleneck bottleneck,
    long evaluations,
    double searchMillis,
    Optional<PlanState> fate) {

  /** The oldest first. */
  static final Comparator<PlanSummary> ORDER =
      Comparator.comparingLong(PlanSummary::generation)
          .thenComparing(PlanSummary::createdAt)
          .thenComparing(PlanSummary::planId);

  /**
   * What became of a plan.
   *
   * @param kind what a trainer did with it
   * @param step at which training step
   * @param source who says so
   * @param reason why it was rejected
   * @param occurredAt when
   */
  public record PlanState(
      PlanStatus.StatusKind kind,
      long step,
      String source,
      Optional<String> reason,
      Instant occurredAt) {
    static PlanState of(PlanStatus status) {
      return new PlanState(
          status.kind(), status.step(), status.source(), status.reason(), status.occurredAt());
    }
  }

  static PlanSummary of(ShardingPlan plan, OptionalDouble answeredMs) {
    return new PlanSummary(
        plan.planId(),
        plan.workloadId(),
        plan.generation(),
        plan.firstGeneration(),
        plan.effort(),
        plan.modelId(),
        plan.previousPlanId(),
        plan.reason(),
        plan.createdAt(),
        answeredMs,
        plan.predictedMs(),
        OptionalDouble.empty(),
        plan.insight().lowerBoundMs(),
        plan.deviceCosts().size(),
        (int) plan.shards().stream().map(Shard::table).distinct().count(),
        plan.shards().size(),
        plan.moves().size(),
        plan.movedBytes(),
        imbalance(plan),
        plan.insight().bottleneck(),
        plan.evaluations(),
        plan.searchMillis(),
        Optional.empty());
  }

  private static double imbalance(ShardingPlan plan) {
    double sum = 0;
    double last = 0;
    for (DeviceCost cost : plan.deviceCosts()) {
      double start = cost.computeMs() + cost.backwardCommMs();
      sum += start;
      last = Math.max(last, start);
    }
    return sum > 0 ? last * plan.deviceCosts().size() / sum - 1 : 0;
  }

  /** Returns this line with what is known beside the plan. */
  PlanSummary with(OptionalDouble before, Optional<PlanState> newFate) {
    return new PlanSummary(
        planId,
        workloadId,
        generation,
        firstGeneration,
        effort,
        modelId,
        previousPlanId,
        reason,
        createdAt,
        answeredMs,
        predictedMs,
        before,
        lowerBoundMs,
        devices,
        tables,
        shards,
        moves,
        movedBytes,
        imbalance,
        bottleneck,
        evaluations,
        searchMillis,
        newFate);
  }
}
