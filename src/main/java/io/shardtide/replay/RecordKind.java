package io.shardtide.replay;

import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.DeviceSpeeds;
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
 * @param name its name for people, and of its file, without extension
 * @param codec codec of the records
 * @param workloadId returns the workload of a record
 * @param topic returns its topic
 * @param <V> type of the records
 */
public record RecordKind<V>(
    String name,
    Codec<V, ?> codec,
    Function<V, String> workloadId,
    Function<Topics, Topic<V>> topic) {
  /** Events of publishers, rejected ones included. */
  public static final RecordKind<WorkloadChange> EVENTS =
      new RecordKind<>(
          "events", Codec.WORKLOAD_CHANGE, WorkloadChange::workloadId, Topics::workloadChanges);

  /** Predictions of tables. */
  public static final RecordKind<CostPredictions> PREDICTIONS =
      new RecordKind<>(
          "predictions",
          Codec.COST_PREDICTIONS,
          CostPredictions::workloadId,
          Topics::costPredictions);

  /** Statuses that trainers reported. */
  public static final RecordKind<PlanStatus> STATUSES =
      new RecordKind<>("statuses", Codec.PLAN_STATUS, PlanStatus::workloadId, Topics::planStatus);

  /** Slow devices. */
  public static final RecordKind<DeviceSpeeds> SPEEDS =
      new RecordKind<>(
          "speeds", Codec.DEVICE_SPEEDS, DeviceSpeeds::workloadId, Topics::deviceSpeeds);

  /** All plans. */
  public static final RecordKind<ShardingPlan> PLANS =
      new RecordKind<>(
          "plans", Codec.SHARDING_PLAN, ShardingPlan::workloadId, Topics::shardingPlans);

  /** Generations that did not fit. */
  public static final RecordKind<InfeasibleWorkload> INFEASIBLE =
      new RecordKind<>(
          "infeasible",
          Codec.INFEASIBLE_WORKLOAD,
          InfeasibleWorkload::workloadId,
          Topics::infeasibleWorkloads);

  /**
   * All kinds, results before their inputs. A reader that determines the end offsets of a growing
   * log in this order finds the inputs of every result.
   */
  public static final List<RecordKind<?>> ALL =
      List.of(PLANS, INFEASIBLE, STATUSES, SPEEDS, PREDICTIONS, EVENTS);

  /** Returns the name of its file. */
  public String file() {
    return name + ".jsonl";
  }
}
