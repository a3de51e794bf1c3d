package io.shardtide.replay;

import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.DeviceSpeeds;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.domain.pool.Allocation;
import io.shardtide.domain.pool.CurveReport;
import io.shardtide.domain.pool.PoolChange;
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
 * @param key returns the key of a record: its workload; its pool, if it is one of {@link #OF_POOLS}
 * @param topic returns its topic
 * @param <V> type of the records
 */
public record RecordKind<V>(
    String name, Codec<V, ?> codec, Function<V, String> key, Function<Topics, Topic<V>> topic) {
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

  /** Allocations of pools. */
  public static final RecordKind<Allocation> ALLOCATIONS =
      new RecordKind<>("allocations", Codec.ALLOCATION, Allocation::poolId, Topics::allocations);

  /** Predicted throughput of workloads with a claim on a pool. */
  public static final RecordKind<CurveReport> CURVES =
      new RecordKind<>(
          "throughput-curves", Codec.CURVE_REPORT, CurveReport::poolId, Topics::throughputCurves);

  /** Events of pools, rejected ones included. */
  public static final RecordKind<PoolChange> POOL_CHANGES =
      new RecordKind<>("pool-changes", Codec.POOL_CHANGE, PoolChange::poolId, Topics::poolChanges);

  /** The kinds that a log without pools does not have. */
  public static final List<RecordKind<?>> OF_POOLS = List.of(ALLOCATIONS, CURVES, POOL_CHANGES);

  /**
   * All kinds, results before their inputs. A reader that determines the end offsets of a growing
   * log in this order finds the inputs of every result.
   */
  public static final List<RecordKind<?>> ALL =
      List.of(
          PLANS,
          INFEASIBLE,
          STATUSES,
          SPEEDS,
          PREDICTIONS,
          EVENTS,
          ALLOCATIONS,
          CURVES,
          POOL_CHANGES);

  /** Returns whether a log without pools does not have such records. */
  public boolean isOfPools() {
    return OF_POOLS.contains(this);
  }

  /** Returns the name of its file. */
  public String file() {
    return name + ".jsonl";
  }
}
