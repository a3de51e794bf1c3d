package io.shardtide.views;

import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Effort;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A plan without its shards.
 *
 * @param planId the plan's id
 * @param workloadId its workload
 * @param generation the generation that it plans
 * @param firstGeneration the first generation that it answers
 * @param effort effort of the search
 * @param modelId the cost model that predicted
 * @param previousPlanId the plan that was running when it was made
 * @param reason why it was made, for people
 * @param createdAt when it was made
 * @param answeredMs time from the record of the last change that it answers to the plan's record,
 *     in milliseconds; empty if the dashboard did not read that change
 * @param predictedMs predicted cost of a step, in milliseconds
 * @param beforeMs predicted cost of the previous plan, in milliseconds; empty if it is no longer
 *     kept
 * @param lowerBoundMs lower bound on the predicted cost of any plan, in milliseconds
 * @param devices number of devices, of all replica groups
 * @param replication the replica groups
 * @param tables number of tables
 * @param shards number of shards; a table with a copy on each device is one
 * @param moves number of shards that move
 * @param movedBytes bytes that the moves transfer
 * @param imbalance how much later than the mean the last device starts the forward communication,
 *     as a fraction of the mean; 0 if all start at once
 * @param bottleneck what bounds the cost of a step
 * @param slow the slow devices that it gives less work
 * @param evaluations cost evaluations of the search
 * @param searchMillis duration of the search, in milliseconds
 * @param fate the last status that a trainer reported
 */
@RecordBuilder
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
    Optional<Double> beforeMs,
    double lowerBoundMs,
    int devices,
    Replication replication,
    int tables,
    int shards,
    int moves,
    long movedBytes,
    double imbalance,
    Bottleneck bottleneck,
    List<DeviceSpeed> slow,
    long evaluations,
    double searchMillis,
    Optional<PlanStatus> fate) {

  /** Oldest first. */
  static final Comparator<PlanSummary> ORDER =
      Comparator.comparingLong(PlanSummary::generation)
          .thenComparing(PlanSummary::createdAt)
          .thenComparing(PlanSummary::planId);

  static PlanSummary of(ShardingPlan plan, OptionalDouble answeredMs) {
    return new PlanSummary(
        plan.planId(),
        plan.workloadId(),
        plan.generation(),
        plan.origin().firstGeneration(),
        plan.origin().effort(),
        plan.origin().modelId().intern(),
        plan.origin().previousPlanId(),
        plan.reason(),
        plan.run().createdAt(),
        answeredMs,
        plan.predictedMs(),
        Optional.empty(),
        plan.prediction().insight().lowerBoundMs(),
        plan.ranks(),
        plan.replication(),
        (int) plan.shards().stream().map(Shard::table).distinct().count(),
        plan.shards().size(),
        plan.movedShards(),
        plan.movedBytes(),
        imbalance(plan),
        plan.prediction().insight().bottleneck(),
        plan.origin().slow(),
        plan.run().evaluations(),
        plan.run().searchMillis(),
        Optional.empty());
  }

  private static double imbalance(ShardingPlan plan) {
    double sum = 0;
    double last = 0;
    for (DeviceCost cost : plan.prediction().deviceCosts()) {
      double start = cost.computeMs() + cost.backwardCommMs();
      sum += start;
      last = Math.max(last, start);
    }
    return sum > 0 ? last * plan.prediction().deviceCosts().size() / sum - 1 : 0;
  }
}
