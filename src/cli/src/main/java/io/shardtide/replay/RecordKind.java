package io.shardtide.replay;

import io.shardtide.cost.CostPredictions;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.TableForecasts;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.PoolChange;
import io.shardtide.wire.Extension;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.WorkloadChange;
import java.util.List;
import java.util.Optional;

/**
 * One kind of record that a replay reads.
 *
 * @param name its name for people, and of its file, without extension
 * @param type its topic; the key is the workload, or the pool if it {@link #isOfPools}. A log
 *     without the topic's extension has no such records
 * @param <V> type of the records
 */
public record RecordKind<V>(String name, TopicType<V> type) {
  /** Events of publishers, rejected ones included. */
  public static final RecordKind<WorkloadChange> EVENTS =
      new RecordKind<>("events", TopicType.WORKLOAD_CHANGES);

  /** Predictions of tables. */
  public static final RecordKind<CostPredictions> PREDICTIONS =
      new RecordKind<>("predictions", TopicType.COST_PREDICTIONS);

  /** Statuses that trainers reported. */
  public static final RecordKind<PlanStatus> STATUSES =
      new RecordKind<>("statuses", TopicType.PLAN_STATUS);

  /** Slow devices. */
  public static final RecordKind<DeviceSpeeds> SPEEDS =
      new RecordKind<>("speeds", TopicType.DEVICE_SPEEDS);

  /** All plans. */
  public static final RecordKind<ShardingPlan> PLANS =
      new RecordKind<>("plans", TopicType.SHARDING_PLANS);

  /** Generations that did not fit. */
  public static final RecordKind<InfeasibleWorkload> INFEASIBLE =
      new RecordKind<>("infeasible", TopicType.INFEASIBLE_WORKLOADS);

  /** Forecasts of hashed tables. */
  public static final RecordKind<TableForecasts> FORECASTS =
      new RecordKind<>("forecasts", TopicType.TABLE_FORECASTS);

  /** Reports of how full hashed tables are, rejected ones included. */
  public static final RecordKind<FillReport> FILLS =
      new RecordKind<>("fills", TopicType.TABLE_FILLS);

  /** Allocations of pools. */
  public static final RecordKind<Allocation> ALLOCATIONS =
      new RecordKind<>("allocations", TopicType.ALLOCATIONS);

  /** Predicted throughput of workloads with a claim on a pool. */
  public static final RecordKind<CurveReport> CURVES =
      new RecordKind<>("throughput-curves", TopicType.THROUGHPUT_CURVES);

  /** Events of pools, rejected ones included. */
  public static final RecordKind<PoolChange> POOL_CHANGES =
      new RecordKind<>("pool-changes", TopicType.POOL_CHANGES);

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
          FORECASTS,
          PREDICTIONS,
          EVENTS,
          FILLS,
          ALLOCATIONS,
          CURVES,
          POOL_CHANGES);

  /** Returns whether such records belong to pools, not to workloads. */
  public boolean isOfPools() {
    return type.extension().equals(Optional.of(Extension.POOLS));
  }

  /** Returns the name of its file. */
  public String file() {
    return name + ".jsonl";
  }
}
