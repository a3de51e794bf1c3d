package io.shardtide.wire;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.wire.Topic.Retention;
import java.util.List;

/**
 * The catalogue of topics. Keys are workload ids; where it is a model that is learned and judged,
 * from training-samples on, they are the hardware, so that all of one model's are in one order.
 *
 * @param workloadChanges what publishers say
 * @param costPredictions what the model predicts for each new or changed table
 * @param currentPredictions the latest of these for each table and each workload, see {@link
 *     PredictionKey}
 * @param shardingPlans every plan
 * @param currentPlans the latest plan of each workload
 * @param planStatus what trainers do with plans
 * @param measuredCosts what trainers measure
 * @param trainingSamples measured costs beside what was predicted
 * @param driftAlarms where measured costs went away from what was predicted
 * @param modelDecisions whether retrained models took over, and why
 * @param costModels every model that was used
 * @param infeasibleWorkloads what does not fit
 * @param rejectedEvents what was not applied
 */
public record Topics(
    Topic<WorkloadChange> workloadChanges,
    Topic<CostPredictions> costPredictions,
    Topic<CostPredictions> currentPredictions,
    Topic<ShardingPlan> shardingPlans,
    Topic<ShardingPlan> currentPlans,
    Topic<PlanStatus> planStatus,
    Topic<MeasuredCosts> measuredCosts,
    Topic<CostSample> trainingSamples,
    Topic<DriftAlarm> driftAlarms,
    Topic<ModelDecision> modelDecisions,
    Topic<ModelBundle> costModels,
    Topic<InfeasibleWorkload> infeasibleWorkloads,
    Topic<RejectedEvent> rejectedEvents) {

  /** The prefix of all names unless told otherwise. */
  public static final String DEFAULT_PREFIX = "shardtide.";

  /**
   * The application that reads workload-changes; with the prefix before it, the consumer group
   * whose committed offsets say how far the planner is.
   */
  public static final String WORKLOAD_APPLICATION = "workload";

  /**
   * The largest record: an event of 10,000 tables with histograms and 255-character names is 4.6
   * MB, a plan for 10,000 tables in 40,000 shards 3 MB; a rejected event carries the record that it
   * rejects.
   */
  public static final int LARGE_RECORD_BYTES = 16 * 1024 * 1024;

  /** What a cluster with default settings accepts. */
  private static final int DEFAULT_RECORD_BYTES = 1_048_588;

  /** Room that a rejected event needs beside the record that it carries. */
  private static final int REJECTION_BYTES = 64 * 1024;

  /** Returns the catalogue with a prefix before each name. */
  public static Topics withPrefix(String prefix) {
    return new Topics(
        new Topic<>(
            prefix + "workload-changes",
            Codec.WORKLOAD_CHANGE,
            Retention.FOREVER,
            LARGE_RECORD_BYTES),
        new Topic<>(
            prefix + "cost-predictions",
            Codec.COST_PREDICTIONS,
            Retention.FOREVER,
            DEFAULT_RECORD_BYTES),
        new Topic<>(
            prefix + "current-predictions",
            Codec.COST_PREDICTIONS,
            Retention.LATEST,
            DEFAULT_RECORD_BYTES),
        new Topic<>(
            prefix + "sharding-plans", Codec.SHARDING_PLAN, Retention.FOREVER, LARGE_RECORD_BYTES),
        new Topic<>(
            prefix + "current-plans", Codec.SHARDING_PLAN, Retention.LATEST, LARGE_RECORD_BYTES),
        new Topic<>(
            prefix + "plan-status", Codec.PLAN_STATUS, Retention.FOREVER, DEFAULT_RECORD_BYTES),
        new Topic<>(
            prefix + "measured-costs",
            Codec.MEASURED_COSTS,
            Retention.CLUSTER_DEFAULT,
            DEFAULT_RECORD_BYTES),
        new Topic<>(
            prefix + "training-samples", Codec.COST_SAMPLE, Retention.FOREVER, LARGE_RECORD_BYTES),
        new Topic<>(
            prefix + "drift-alarms", Codec.DRIFT_ALARM, Retention.FOREVER, DEFAULT_RECORD_BYTES),
        new Topic<>(
            prefix + "model-decisions",
            Codec.MODEL_DECISION,
            Retention.FOREVER,
            DEFAULT_RECORD_BYTES),
        new Topic<>(
            prefix + "cost-models", Codec.MODEL_BUNDLE, Retention.FOREVER, DEFAULT_RECORD_BYTES),
        new Topic<>(
            prefix + "infeasible-workloads",
            Codec.INFEASIBLE_WORKLOAD,
            Retention.FOREVER,
            DEFAULT_RECORD_BYTES),
        new Topic<>(
            prefix + "rejected-events",
            Codec.REJECTED_EVENT,
            Retention.FOREVER,
            LARGE_RECORD_BYTES + REJECTION_BYTES));
  }

  /** Returns all topics. */
  public List<Topic<?>> all() {
    return List.of(
        workloadChanges,
        costPredictions,
        currentPredictions,
        shardingPlans,
        currentPlans,
        planStatus,
        measuredCosts,
        trainingSamples,
        driftAlarms,
        modelDecisions,
        costModels,
        infeasibleWorkloads,
        rejectedEvents);
  }
}
