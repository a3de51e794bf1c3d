package io.shardtide.topology;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.learn.Feedback;
import io.shardtide.learn.FeedbackStep;
import io.shardtide.learn.FeedbackTables;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.DriftAlarm;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.streams.Topology;

/**
 * measured-costs to training-samples, drift-alarms and device-speeds: joins measured costs with the
 * predictions for the plan that was running, from cost-predictions, sharding-plans and
 * accepted-statuses.
 */
public final class FeedbackTopology {
  private FeedbackTopology() {}

  /**
   * Builds the topology; nothing runs yet.
   *
   * @param topics where to read and write
   * @param registry schemas of the records
   * @param step applies the records
   * @param models plans wait for those that they name
   * @param metrics counts events and times them
   * @param retry waits while the registry is unavailable
   */
  public static Topology build(
      Topics topics,
      Registry registry,
      FeedbackStep step,
      ArrivingModels models,
      PlannerMetrics metrics,
      RegistryRetry retry) {
    return new SingleProcessorTopology(TopologyName.FEEDBACK, registry, topics, metrics, retry)
        .reads(NodeName.READ_PREDICTIONS, topics.costPredictions())
        .reads(NodeName.READ_PLANS, topics.shardingPlans())
        .reads(NodeName.READ_STATUS, topics.planStatus())
        .reads(NodeName.READ_MEASURED, topics.measuredCosts())
        .writes(NodeName.WRITE_SAMPLES, topics.trainingSamples())
        .writes(NodeName.WRITE_ALARMS, topics.driftAlarms())
        .writes(NodeName.WRITE_SPEEDS, topics.deviceSpeeds())
        .readsLatest(NodeName.TAKE_ACCEPTED, topics.acceptedStatuses())
        .build(
            NodeName.COMPARE_COSTS,
            skeleton -> new Compare(skeleton, topics, step, models, metrics));
  }

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

  private static final class Compare extends KeyedProcessor {
    private final Topics topics;
    private final PlannerMetrics metrics;
    private FeedbackTables store;
    private final Map<String, DeviceSpeeds> shown = new ConcurrentHashMap<>();

    Compare(
        Skeleton skeleton,
        Topics topics,
        FeedbackStep step,
        ArrivingModels models,
        PlannerMetrics metrics) {
      super(skeleton);
      this.topics = topics;
      this.metrics = metrics;
      // Planning reads these too, and rejects invalid ones.
      on(
              topics.costPredictions(),
              CostPredictions::workloadId,
              (part, source, timestamp) -> {
                step.onPredictions(store, part);
                if (part.isDeletion()) {
                  shown.remove(part.workloadId());
                }
              })
          .skippingInvalid()
          .gapless()
          .deletedBy(CostPredictions::isDeletion);
      // Planning judges these. Members of one group read the same topics, those of the version
      // before too.
      on(topics.planStatus(), PlanStatus::workloadId, (status, source, timestamp) -> {})
          .skippingInvalid();
      on(
              topics.shardingPlans(),
              ShardingPlan::workloadId,
              (plan, source, timestamp) -> step.onPlan(store, plan))
          .gapless()
          .when(plan -> models.isDecided(plan.origin().modelId()));
      on(
          topics.measuredCosts(),
          MeasuredCosts::workloadId,
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
              latest(topics.acceptedStatuses(), AcceptedStatus::workloadId)::of);
      show(
          Metric.SLOW_DEVICES,
          () -> shown.values().stream().mapToDouble(FeedbackTopology::slowDevices));
    }

    private void publish(Feedback feedback, long timestamp) {
      for (CostSample sample : feedback.samples()) {
        forward(feedback.hardware(), sample, timestamp, NodeName.WRITE_SAMPLES);
      }
      for (DriftAlarm alarm : feedback.alarms()) {
        forward(feedback.hardware(), alarm, timestamp, NodeName.WRITE_ALARMS);
      }
      feedback
          .speeds()
          .ifPresent(
              speeds -> {
                forward(speeds.workloadId(), speeds, timestamp, NodeName.WRITE_SPEEDS);
                shown.put(speeds.workloadId(), speeds);
              });
      count(metrics, feedback);
      if (!feedback.alarms().isEmpty() || feedback.speeds().isPresent()) {
        written();
      }
    }
  }
}
