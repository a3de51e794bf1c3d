package io.shardtide.views;

import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Effort;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
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
    Optional<PlanState> fate) {

  /** Copies mutable components. */
  public PlanSummary {
    slow = List.copyOf(slow);
  }

  /** Oldest first. */
  static final Comparator<PlanSummary> ORDER =
      Comparator.comparingLong(PlanSummary::generation)
          .thenComparing(PlanSummary::createdAt)
          .thenComparing(PlanSummary::planId);

  /**
   * The state of a plan, as its trainer reported it.
   *
   * @param kind adopted, rejected or finished moving
   * @param step training step of the report
   * @param source who reported
   * @param reason why it was rejected
   * @param occurredAt when it was reported
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
        plan.origin().firstGeneration(),
        plan.origin().effort(),
        plan.origin().modelId().intern(),
        plan.origin().previousPlanId(),
        plan.reason(),
        plan.run().createdAt(),
        answeredMs,
        plan.predictedMs(),
        OptionalDouble.empty(),
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

  /** Returns the number of devices of a replica group. */
  int groupSize() {
    return devices / replication.groups().count();
  }

  /** Returns this summary with the previous plan's predicted cost and the reported state. */
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
        replication,
        tables,
        shards,
        moves,
        movedBytes,
        imbalance,
        bottleneck,
        slow,
        evaluations,
        searchMillis,
        newFate);
  }
}
