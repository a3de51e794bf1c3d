package io.shardtide.topology;

import static io.shardtide.wire.TopicType.ACCEPTED_STATUSES;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.DEVICE_SPEEDS;
import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.learn.Feedback;
import io.shardtide.learn.FeedbackStep;
import io.shardtide.learn.FeedbackTables;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.state.DriftAlarm;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * measured-costs to training-samples, drift-alarms and device-speeds: joins measured costs with the
 * predictions for the plan that was running, from cost-predictions, sharding-plans and
 * accepted-statuses.
 */
final class FeedbackTopology extends KeyedProcessor {
  private final Map<String, DeviceSpeeds> shown = new ConcurrentHashMap<>();
  private FeedbackTables store;

  /** Returns how many devices are slow, in computation, communication or both. */
  static double slowDevices(DeviceSpeeds speeds) {
    return speeds.slow().stream().mapToInt(DeviceSpeed::device).distinct().count();
  }

  /** Counts a measurement and what followed from it. */
  static void count(PlannerMetrics metrics, Feedback feedback) {
    metrics.count(Metric.MEASUREMENTS);
    metrics.add(Metric.TRAINING_SAMPLES, feedback.samples().size());
    feedback
        .excluded()
        .forEach((reason, parts) -> metrics.add(Metric.MEASUREMENTS_SET_ASIDE, parts, reason));
    feedback.alarms().forEach(alarm -> metrics.count(Metric.DRIFT_ALARMS, alarm.kind()));
    feedback
        .ratios()
        .forEach((of, ratio) -> metrics.set(Metric.MEASURED_RATIO, ratio, feedback.hardware(), of));
  }

  /**
   * @param step applies the records
   * @param models plans wait for those that they name
   */
  FeedbackTopology(Skeleton skeleton, FeedbackStep step, ArrivingModels models) {
    super(skeleton);
    on(
            COST_PREDICTIONS,
            (part, source, timestamp) -> {
              step.onPredictions(store, part);
              if (part.isDeletion()) {
                shown.remove(part.workloadId());
              }
            })
        .gapless()
        .deletedBy(CostPredictions::isDeletion);
    // Planning judges these. Members of one group read the same topics, those of the version
    // before too.
    on(PLAN_STATUS, (status, source, timestamp) -> {});
    on(SHARDING_PLANS, (plan, source, timestamp) -> step.onPlan(store, plan))
        .gapless()
        .when(plan -> models.isDecided(plan.origin().modelId()));
    on(
        MEASURED_COSTS,
        (costs, source, timestamp) -> publish(step.measure(store, costs), timestamp));
  }

  @Override
  void open(KeyedStore.Opener stores) {
    store =
        new FeedbackTables(
            stores.open(StoreName.FEEDBACK_HEADERS),
            stores.open(StoreName.PLANNED_TABLES),
            stores.open(StoreName.MEASURED_PLANS),
            stores.open(StoreName.RESIDUAL_WINDOWS),
            latest(ACCEPTED_STATUSES)::of);
    show(
        Metric.SLOW_DEVICES,
        () -> shown.values().stream().mapToDouble(FeedbackTopology::slowDevices));
  }

  private void publish(Feedback feedback, long timestamp) {
    for (CostSample sample : feedback.samples()) {
      forward(feedback.hardware(), sample, timestamp, TRAINING_SAMPLES);
    }
    for (DriftAlarm alarm : feedback.alarms()) {
      forward(feedback.hardware(), alarm, timestamp, DRIFT_ALARMS);
    }
    feedback
        .speeds()
        .ifPresent(
            speeds -> {
              forward(speeds.workloadId(), speeds, timestamp, DEVICE_SPEEDS);
              shown.put(speeds.workloadId(), speeds);
            });
    count(metrics, feedback);
    if (!feedback.alarms().isEmpty() || feedback.speeds().isPresent()) {
      written();
    }
  }
}
