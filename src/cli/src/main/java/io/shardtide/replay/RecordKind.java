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
import io.shardtide.wire.Codec;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.WorkloadChange;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * One kind of record that a replay reads.
 *
 * @param name its name for people, and of its file, without extension
 * @param codec codec of the records
 * @param key returns the key of a record: its workload; its pool, if it {@link #isOfPools}
 * @param topic returns its topic
 * @param extension the optional part of the planner without which a log has no such records
 * @param <V> type of the records
 */
public record RecordKind<V>(
    String name,
    Codec<V, ?> codec,
    Function<V, String> key,
    Function<Topics, Topic<V>> topic,
    Optional<Extension> extension) {
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

  /** Forecasts of hashed tables. */
  public static final RecordKind<TableForecasts> FORECASTS =
      new RecordKind<>(
          "forecasts",
          Codec.TABLE_FORECASTS,
          TableForecasts::workloadId,
          Topics::tableForecasts,
          Optional.of(Extension.GROWTH));

  /** Reports of how full hashed tables are, rejected ones included. */
  public static final RecordKind<FillReport> FILLS =
      new RecordKind<>(
          "fills",
          Codec.FILL_REPORT,
          FillReport::workloadId,
          Topics::tableFills,
          Optional.of(Extension.GROWTH));

  /** Allocations of pools. */
  public static final RecordKind<Allocation> ALLOCATIONS =
      new RecordKind<>(
          "allocations",
          Codec.ALLOCATION,
          Allocation::poolId,
          Topics::allocations,
          Optional.of(Extension.POOLS));

  /** Predicted throughput of workloads with a claim on a pool. */
  public static final RecordKind<CurveReport> CURVES =
      new RecordKind<>(
          "throughput-curves",
          Codec.CURVE_REPORT,
          CurveReport::poolId,
          Topics::throughputCurves,
          Optional.of(Extension.POOLS));

  /** Events of pools, rejected ones included. */
  public static final RecordKind<PoolChange> POOL_CHANGES =
      new RecordKind<>(
          "pool-changes",
          Codec.POOL_CHANGE,
          PoolChange::poolId,
          Topics::poolChanges,
          Optional.of(Extension.POOLS));

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

  private RecordKind(
      String name, Codec<V, ?> codec, Function<V, String> key, Function<Topics, Topic<V>> topic) {
    this(name, codec, key, topic, Optional.empty());
  }

  /** Returns the kinds that a log without an optional part of the planner does not have. */
  public static List<RecordKind<?>> of(Extension part) {
    return ALL.stream().filter(kind -> kind.extension().equals(Optional.of(part))).toList();
  }

  /** Returns whether such records belong to pools, not to workloads. */
  public boolean isOfPools() {
    return extension.equals(Optional.of(Extension.POOLS));
  }

  /** Returns the name of its file. */
  public String file() {
    return name + ".jsonl";
  }
}
