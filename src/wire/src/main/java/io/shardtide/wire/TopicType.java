package io.shardtide.wire;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.TableForecasts;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.PoolChange;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.ModelDecision;
import io.shardtide.workload.Quarantine;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.WorkloadChange;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * All that is known of a topic whatever its prefix and its cluster, see {@link Topics#of}.
 *
 * <p>The key of a record is the workload id; on the topics of cost models it is the hardware, so
 * that all records of one model are in order; on the topics of pools it is the pool.
 *
 * @param name name without a prefix
 * @param codec converts the values
 * @param key returns the key that a record with a value must have; empty for any key
 * @param retention retention of the records
 * @param maxMessageBytes maximum size of a record, in bytes
 * @param leastMessageBytes the smallest limit with which an existing topic is accepted: that of
 *     earlier versions; larger records are then refused, each by itself
 * @param extension the part of the planner without which the topic is not used
 * @param <V> type of the values
 */
public record TopicType<V>(
    String name,
    Codec<V, ?> codec,
    Optional<Function<V, String>> key,
    Retention retention,
    int maxMessageBytes,
    @ForUpgradeFrom("0.2.0") int leastMessageBytes,
    Optional<Extension> extension) {

  /** Retention of records. */
  public enum Retention {
    /** All records, for replays. */
    FOREVER,
    /** The latest record of each key. */
    LATEST,
    /** The cluster's default retention. */
    CLUSTER_DEFAULT
  }

  /**
   * Maximum size of a large record: an event of 10,000 tables with histograms and 255-character
   * names has 4.6 MB, a plan of 10,000 tables in 40,000 shards 3 MB; a rejected event carries the
   * record that it rejects.
   */
  public static final int LARGE_RECORD_BYTES = 16 * 1024 * 1024;

  /** Default limit of a broker. */
  private static final int DEFAULT_RECORD_BYTES = 1_048_588;

  /** Size of a rejected event beside the record that it carries. */
  private static final int REJECTION_BYTES = 64 * 1024;

  /** By name: a constant is added again with each of its properties. */
  private static final Map<String, TopicType<?>> ALL = new LinkedHashMap<>();

  /** Changes of workloads, from publishers. */
  public static final TopicType<WorkloadChange> WORKLOAD_CHANGES =
      large("workload-changes", Codec.WORKLOAD_CHANGE, WorkloadChange::workloadId);

  /** Predicted costs of each new or changed table. */
  public static final TopicType<CostPredictions> COST_PREDICTIONS =
      large("cost-predictions", Codec.COST_PREDICTIONS, CostPredictions::workloadId)
          .acceptedWith(DEFAULT_RECORD_BYTES);

  /** The latest predictions of each table and workload, see {@link PredictionKey}. */
  public static final TopicType<CostPredictions> CURRENT_PREDICTIONS =
      large("current-predictions", Codec.COST_PREDICTIONS, part -> PredictionKey.of(part).text())
          .acceptedWith(DEFAULT_RECORD_BYTES)
          .retained(Retention.LATEST);

  /** All plans. */
  public static final TopicType<ShardingPlan> SHARDING_PLANS =
      large("sharding-plans", Codec.SHARDING_PLAN, ShardingPlan::workloadId);

  /** The latest plan of each workload. */
  public static final TopicType<ShardingPlan> CURRENT_PLANS =
      large("current-plans", Codec.SHARDING_PLAN, ShardingPlan::workloadId)
          .retained(Retention.LATEST);

  /** What trainers do with plans. */
  public static final TopicType<PlanStatus> PLAN_STATUS =
      log("plan-status", Codec.PLAN_STATUS, PlanStatus::workloadId);

  /** Which plans run: the statuses that planning accepted. */
  public static final TopicType<AcceptedStatus> ACCEPTED_STATUSES =
      log("accepted-statuses", Codec.ACCEPTED_STATUS, AcceptedStatus::workloadId);

  /** Costs that trainers measure. */
  public static final TopicType<MeasuredCosts> MEASURED_COSTS =
      log("measured-costs", Codec.MEASURED_COSTS, MeasuredCosts::workloadId)
          .retained(Retention.CLUSTER_DEFAULT);

  /** Slow devices, estimated from measured costs. */
  public static final TopicType<DeviceSpeeds> DEVICE_SPEEDS =
      log("device-speeds", Codec.DEVICE_SPEEDS, DeviceSpeeds::workloadId);

  /** Measured costs with the predicted ones. */
  public static final TopicType<CostSample> TRAINING_SAMPLES =
      large("training-samples", Codec.COST_SAMPLE, CostSample::hardware);

  /** Drift between measured and predicted costs. */
  public static final TopicType<DriftAlarm> DRIFT_ALARMS =
      log("drift-alarms", Codec.DRIFT_ALARM, DriftAlarm::hardware);

  /** Whether retrained models were published, and why. */
  public static final TopicType<ModelDecision> MODEL_DECISIONS =
      log("model-decisions", Codec.MODEL_DECISION, ModelDecision::hardware);

  /** All cost models. */
  public static final TopicType<ModelBundle> COST_MODELS =
      log("cost-models", Codec.MODEL_BUNDLE, ModelBundle::hardware);

  /** Workloads that do not fit their cluster. */
  public static final TopicType<InfeasibleWorkload> INFEASIBLE_WORKLOADS =
      log("infeasible-workloads", Codec.INFEASIBLE_WORKLOAD, InfeasibleWorkload::workloadId);

  /** Changes of pools, from publishers. */
  public static final TopicType<PoolChange> POOL_CHANGES =
      large("pool-changes", Codec.POOL_CHANGE, PoolChange::poolId).of(Extension.POOLS);

  /** Workloads whose throughput pools need. */
  public static final TopicType<CurveRequest> CURVE_REQUESTS =
      log("curve-requests", Codec.CURVE_REQUEST, CurveRequest::workloadId).of(Extension.POOLS);

  /** Predicted throughput of workloads, by pool. */
  public static final TopicType<CurveReport> THROUGHPUT_CURVES =
      log("throughput-curves", Codec.CURVE_REPORT, CurveReport::poolId).of(Extension.POOLS);

  /** All allocations of pools. */
  public static final TopicType<Allocation> ALLOCATIONS =
      large("allocations", Codec.ALLOCATION, Allocation::poolId).of(Extension.POOLS);

  /** The latest allocation of each pool. */
  public static final TopicType<Allocation> CURRENT_ALLOCATIONS =
      large("current-allocations", Codec.ALLOCATION, Allocation::poolId)
          .retained(Retention.LATEST)
          .of(Extension.POOLS);

  /** How full hashed tables are, from trainers. */
  public static final TopicType<FillReport> TABLE_FILLS =
      large("table-fills", Codec.FILL_REPORT, FillReport::workloadId)
          .retained(Retention.CLUSTER_DEFAULT)
          .of(Extension.GROWTH);

  /** All forecasts of hashed tables. */
  public static final TopicType<TableForecasts> TABLE_FORECASTS =
      large("table-forecasts", Codec.TABLE_FORECASTS, TableForecasts::workloadId)
          .retained(Retention.CLUSTER_DEFAULT)
          .of(Extension.GROWTH);

  /** The latest forecasts of each workload. */
  public static final TopicType<TableForecasts> CURRENT_FORECASTS =
      large("current-forecasts", Codec.TABLE_FORECASTS, TableForecasts::workloadId)
          .retained(Retention.LATEST)
          .of(Extension.GROWTH);

  /** Events that were not applied. */
  public static final TopicType<RejectedEvent> REJECTED_EVENTS =
      sized(
          "rejected-events",
          Codec.REJECTED_EVENT,
          Optional.empty(),
          LARGE_RECORD_BYTES + REJECTION_BYTES);

  /** Keys that entered or left the quarantine of a topology. */
  public static final TopicType<Quarantine> QUARANTINE =
      log("quarantine", Codec.QUARANTINE, Quarantine::key);

  private static <V> TopicType<V> log(String name, Codec<V, ?> codec, Function<V, String> key) {
    return sized(name, codec, Optional.of(key), DEFAULT_RECORD_BYTES);
  }

  private static <V> TopicType<V> large(String name, Codec<V, ?> codec, Function<V, String> key) {
    return sized(name, codec, Optional.of(key), LARGE_RECORD_BYTES);
  }

  private static <V> TopicType<V> sized(
      String name, Codec<V, ?> codec, Optional<Function<V, String>> key, int bytes) {
    return new TopicType<>(name, codec, key, Retention.FOREVER, bytes, bytes, Optional.empty())
        .added();
  }

  private TopicType<V> added() {
    ALL.put(name, this);
    return this;
  }

  private TopicType<V> retained(Retention other) {
    return new TopicType<>(name, codec, key, other, maxMessageBytes, leastMessageBytes, extension)
        .added();
  }

  /** Predictions were limited to a broker's default in 0.2.0; a table's have up to 3.5 MB. */
  private TopicType<V> acceptedWith(int least) {
    return new TopicType<>(name, codec, key, retention, maxMessageBytes, least, extension).added();
  }

  private TopicType<V> of(Extension part) {
    Optional<Extension> its = Optional.of(part);
    return new TopicType<>(name, codec, key, retention, maxMessageBytes, leastMessageBytes, its)
        .added();
  }

  /** Returns the key of a record with a value, of a topic with keys. */
  public String keyOf(V value) {
    return key.orElseThrow().apply(value);
  }

  /** Returns all, in the order of the flow. */
  public static Collection<TopicType<?>> all() {
    return Collections.unmodifiableCollection(ALL.values());
  }
}
