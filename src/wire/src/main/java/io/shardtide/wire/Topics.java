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
import io.shardtide.wire.Topic.Retention;
import io.shardtide.workload.Quarantine;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.WorkloadChange;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * All topics of one prefix. The key of a record is the workload id; on the topics of cost models
 * (training-samples, drift-alarms, model-decisions, cost-models) it is the hardware, so that all
 * records of one model are in order; on the topics of pools (pool-changes, throughput-curves,
 * allocations, current-allocations) it is the pool.
 */
public final class Topics {
  /** The default prefix of all names. */
  public static final String DEFAULT_PREFIX = "shardtide.";

  /**
   * The application that reads workload-changes. With the prefix before it, it is the consumer
   * group whose committed offsets are the planner's progress.
   */
  public static final String WORKLOAD_APPLICATION = "workload";

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

  private final String prefix;
  private final Set<Extension> extensions;
  private final Map<String, Integer> limits;
  private final Map<String, Integer> partitions;
  private final List<Topic<?>> all = new ArrayList<>();
  private final Map<String, Extension> optional = new HashMap<>();
  private final Topic<WorkloadChange> workloadChanges;
  private final Topic<CostPredictions> costPredictions;
  private final Topic<CostPredictions> currentPredictions;
  private final Topic<ShardingPlan> shardingPlans;
  private final Topic<ShardingPlan> currentPlans;
  private final Topic<PlanStatus> planStatus;
  private final Topic<AcceptedStatus> acceptedStatuses;
  private final Topic<MeasuredCosts> measuredCosts;
  private final Topic<DeviceSpeeds> deviceSpeeds;
  private final Topic<CostSample> trainingSamples;
  private final Topic<DriftAlarm> driftAlarms;
  private final Topic<ModelDecision> modelDecisions;
  private final Topic<ModelBundle> costModels;
  private final Topic<InfeasibleWorkload> infeasibleWorkloads;
  private final Topic<PoolChange> poolChanges;
  private final Topic<CurveRequest> curveRequests;
  private final Topic<CurveReport> throughputCurves;
  private final Topic<Allocation> allocations;
  private final Topic<Allocation> currentAllocations;
  private final Topic<FillReport> tableFills;
  private final Topic<TableForecasts> tableForecasts;
  private final Topic<TableForecasts> currentForecasts;
  private final Topic<RejectedEvent> rejectedEvents;
  private final Topic<Quarantine> quarantine;

  private Topics(
      String prefix,
      Set<Extension> extensions,
      Map<String, Integer> limits,
      Map<String, Integer> partitions) {
    this.prefix = prefix;
    this.extensions = Set.copyOf(extensions);
    this.limits = Map.copyOf(limits);
    this.partitions = Map.copyOf(partitions);
    workloadChanges = large("workload-changes", Codec.WORKLOAD_CHANGE);
    costPredictions = grown("cost-predictions", Retention.FOREVER);
    currentPredictions = grown("current-predictions", Retention.LATEST);
    shardingPlans = large("sharding-plans", Codec.SHARDING_PLAN);
    currentPlans = add("current-plans", Codec.SHARDING_PLAN, Retention.LATEST, LARGE_RECORD_BYTES);
    planStatus = log("plan-status", Codec.PLAN_STATUS);
    acceptedStatuses = log("accepted-statuses", Codec.ACCEPTED_STATUS);
    measuredCosts =
        add(
            "measured-costs",
            Codec.MEASURED_COSTS,
            Retention.CLUSTER_DEFAULT,
            DEFAULT_RECORD_BYTES);
    deviceSpeeds = log("device-speeds", Codec.DEVICE_SPEEDS);
    trainingSamples = large("training-samples", Codec.COST_SAMPLE);
    driftAlarms = log("drift-alarms", Codec.DRIFT_ALARM);
    modelDecisions = log("model-decisions", Codec.MODEL_DECISION);
    costModels = log("cost-models", Codec.MODEL_BUNDLE);
    infeasibleWorkloads = log("infeasible-workloads", Codec.INFEASIBLE_WORKLOAD);
    poolChanges = of(Extension.POOLS, large("pool-changes", Codec.POOL_CHANGE));
    curveRequests = of(Extension.POOLS, log("curve-requests", Codec.CURVE_REQUEST));
    throughputCurves = of(Extension.POOLS, log("throughput-curves", Codec.CURVE_REPORT));
    allocations = of(Extension.POOLS, large("allocations", Codec.ALLOCATION));
    currentAllocations =
        of(
            Extension.POOLS,
            add("current-allocations", Codec.ALLOCATION, Retention.LATEST, LARGE_RECORD_BYTES));
    tableFills =
        of(
            Extension.GROWTH,
            add("table-fills", Codec.FILL_REPORT, Retention.CLUSTER_DEFAULT, LARGE_RECORD_BYTES));
    tableForecasts =
        of(
            Extension.GROWTH,
            add(
                "table-forecasts",
                Codec.TABLE_FORECASTS,
                Retention.CLUSTER_DEFAULT,
                LARGE_RECORD_BYTES));
    currentForecasts =
        of(
            Extension.GROWTH,
            add("current-forecasts", Codec.TABLE_FORECASTS, Retention.LATEST, LARGE_RECORD_BYTES));
    rejectedEvents =
        add(
            "rejected-events",
            Codec.REJECTED_EVENT,
            Retention.FOREVER,
            LARGE_RECORD_BYTES + REJECTION_BYTES);
    quarantine = log("quarantine", Codec.QUARANTINE);
  }

  /** Returns a topic of an extension: {@link #all()} is without it unless that is in use. */
  private <V> Topic<V> of(Extension extension, Topic<V> topic) {
    optional.put(topic.name(), extension);
    if (!extensions.contains(extension)) {
      all.remove(topic);
    }
    return topic;
  }

  private <V> Topic<V> log(String name, Codec<V, ?> codec) {
    return add(name, codec, Retention.FOREVER, DEFAULT_RECORD_BYTES);
  }

  private <V> Topic<V> large(String name, Codec<V, ?> codec) {
    return add(name, codec, Retention.FOREVER, LARGE_RECORD_BYTES);
  }

  /** Predictions were limited to a broker's default in 0.2.0; a table's have up to 3.5 MB. */
  private Topic<CostPredictions> grown(String name, Retention retention) {
    return add(name, Codec.COST_PREDICTIONS, retention, LARGE_RECORD_BYTES, DEFAULT_RECORD_BYTES);
  }

  private <V> Topic<V> add(String name, Codec<V, ?> codec, Retention retention, int maxBytes) {
    return add(name, codec, retention, maxBytes, maxBytes);
  }

  private <V> Topic<V> add(
      String name, Codec<V, ?> codec, Retention retention, int maxBytes, int leastBytes) {
    int limit = Math.min(maxBytes, limits.getOrDefault(prefix + name, maxBytes));
    Topic<V> topic =
        new Topic<>(prefix + name, codec, retention, limit, Math.min(limit, leastBytes));
    all.add(topic);
    return topic;
  }

  /**
   * Returns these topics with the limits that they have on a cluster.
   *
   * @param found {@code max.message.bytes} by name, of those whose limit is smaller
   */
  public Topics limitedTo(Map<String, Integer> found) {
    return new Topics(prefix, extensions, found, partitions);
  }

  /**
   * Returns these topics with the partitions that they have on a cluster.
   *
   * @param found how many partitions they have, by name
   */
  public Topics withPartitions(Map<String, Integer> found) {
    return new Topics(prefix, extensions, limits, found);
  }

  /** Returns how many partitions a topic has; empty if that is not known. */
  public OptionalInt partitions(Topic<?> topic) {
    Integer count = partitions.get(topic.name());
    return count == null ? OptionalInt.empty() : OptionalInt.of(count);
  }

  /** Returns the prefix of all names. */
  public String prefix() {
    return prefix;
  }

  /** Returns the topics with a prefix before each name, those of all extensions included. */
  public static Topics withPrefix(String prefix) {
    return new Topics(prefix, EnumSet.allOf(Extension.class), Map.of(), Map.of());
  }

  /**
   * Returns the topics that a planner uses.
   *
   * @param prefix text before each name
   * @param extensions those that are enabled; {@link #all()} is without the topics of others
   */
  public static Topics inUse(String prefix, Set<Extension> extensions) {
    return new Topics(prefix, extensions, Map.of(), Map.of());
  }

  /** Returns the extension that a topic belongs to; empty for any other name. */
  public Optional<Extension> extensionOf(String name) {
    return Optional.ofNullable(optional.get(name));
  }

  /** Changes of workloads, from publishers. */
  public Topic<WorkloadChange> workloadChanges() {
    return workloadChanges;
  }

  /** Predicted costs of each new or changed table. */
  public Topic<CostPredictions> costPredictions() {
    return costPredictions;
  }

  /** The latest predictions of each table and workload, see {@link PredictionKey}. */
  public Topic<CostPredictions> currentPredictions() {
    return currentPredictions;
  }

  /** All plans. */
  public Topic<ShardingPlan> shardingPlans() {
    return shardingPlans;
  }

  /** The latest plan of each workload. */
  public Topic<ShardingPlan> currentPlans() {
    return currentPlans;
  }

  /** What trainers do with plans. */
  public Topic<PlanStatus> planStatus() {
    return planStatus;
  }

  /** Which plans run: the statuses that planning accepted. */
  public Topic<AcceptedStatus> acceptedStatuses() {
    return acceptedStatuses;
  }

  /** Costs that trainers measure. */
  public Topic<MeasuredCosts> measuredCosts() {
    return measuredCosts;
  }

  /** Slow devices, estimated from measured costs. */
  public Topic<DeviceSpeeds> deviceSpeeds() {
    return deviceSpeeds;
  }

  /** Measured costs with the predicted ones. */
  public Topic<CostSample> trainingSamples() {
    return trainingSamples;
  }

  /** Drift between measured and predicted costs. */
  public Topic<DriftAlarm> driftAlarms() {
    return driftAlarms;
  }

  /** Whether retrained models were published, and why. */
  public Topic<ModelDecision> modelDecisions() {
    return modelDecisions;
  }

  /** All cost models. */
  public Topic<ModelBundle> costModels() {
    return costModels;
  }

  /** Workloads that do not fit their cluster. */
  public Topic<InfeasibleWorkload> infeasibleWorkloads() {
    return infeasibleWorkloads;
  }

  /** Changes of pools, from publishers. */
  public Topic<PoolChange> poolChanges() {
    return poolChanges;
  }

  /** Workloads whose throughput pools need. */
  public Topic<CurveRequest> curveRequests() {
    return curveRequests;
  }

  /** Predicted throughput of workloads, by pool. */
  public Topic<CurveReport> throughputCurves() {
    return throughputCurves;
  }

  /** All allocations of pools. */
  public Topic<Allocation> allocations() {
    return allocations;
  }

  /** The latest allocation of each pool. */
  public Topic<Allocation> currentAllocations() {
    return currentAllocations;
  }

  /** How full hashed tables are, from trainers. */
  public Topic<FillReport> tableFills() {
    return tableFills;
  }

  /** All forecasts of hashed tables. */
  public Topic<TableForecasts> tableForecasts() {
    return tableForecasts;
  }

  /** The latest forecasts of each workload. */
  public Topic<TableForecasts> currentForecasts() {
    return currentForecasts;
  }

  /** Events that were not applied. */
  public Topic<RejectedEvent> rejectedEvents() {
    return rejectedEvents;
  }

  /** Keys that entered or left the quarantine of a topology. */
  public Topic<Quarantine> quarantine() {
    return quarantine;
  }

  /** Returns all topics, in the order of the flow; see {@link #inUse}. */
  public List<Topic<?>> all() {
    return List.copyOf(all);
  }
}
