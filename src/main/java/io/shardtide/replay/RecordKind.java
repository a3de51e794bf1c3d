package io.shardtide.replay;

import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.wire.Codec;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.util.List;
import java.util.function.Function;

/**
 * One kind of record that a replay reads.
 *
 * @param name what people call it, and the name of its file without the ending
 * @param codec what the records are
 * @param workloadId gives the workload of a record
 * @param topic gives its topic
 * @param <V> what a record holds
 */
public record RecordKind<V>(
    String name,
    Codec<V, ?> codec,
    Function<V, String> workloadId,
    Function<Topics, Topic<V>> topic) {
  /** What publishers said, in the order of the log; what was rejected is among it. */
  public static final RecordKind<WorkloadChange> EVENTS =
      new RecordKind<>(
          "events", Codec.WORKLOAD_CHANGE, WorkloadChange::workloadId, Topics::workloadChanges);

  /** What models said of tables. */
  public static final RecordKind<CostPredictions> PREDICTIONS =
      new RecordKind<>(
          "predictions",
          Codec.COST_PREDICTIONS,
          CostPredictions::workloadId,
          Topics::costPredictions);

  /** What trainers reported. */
  public static final RecordKind<PlanStatus> STATUSES =
      new RecordKind<>("statuses", Codec.PLAN_STATUS, PlanStatus::workloadId, Topics::planStatus);

  /** Every plan. */
  public static final RecordKind<ShardingPlan> PLANS =
      new RecordKind<>(
          "plans", Codec.SHARDING_PLAN, ShardingPlan::workloadId, Topics::shardingPlans);

  /** What did not fit. */
  public static final RecordKind<InfeasibleWorkload> INFEASIBLE =
      new RecordKind<>(
          "infeasible",
          Codec.INFEASIBLE_WORKLOAD,
          InfeasibleWorkload::workloadId,
          Topics::infeasibleWorkloads);

  /**
   * All of them, what follows before what it follows from: who looks at a log that grows looks at
   * its ends in this order, and finds what every plan needs.
   */
  public static final List<RecordKind<?>> ALL =
      List.of(PLANS, INFEASIBLE, STATUSES, PREDICTIONS, EVENTS);

  /** Returns the name of its file. */
  public String file() {
    return name + ".jsonl";
  }
}
