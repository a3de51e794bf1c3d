package io.shardtide.topology;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.SourcePosition;
import io.shardtide.learning.Feedback;
import io.shardtide.learning.FeedbackStep;
import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.util.function.Consumer;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * measured-costs to training-samples, drift-alarms and device-speeds: joins measured costs with the
 * predictions for the plan that was running, from cost-predictions, sharding-plans and plan-status.
 */
public final class FeedbackTopology {
  private FeedbackTopology() {}

  /**
   * Builds the topology; nothing runs yet.
   *
   * @param topics where to read and write
   * @param registry schemas of the records
   * @param step applies the records
   * @param metrics counts events and times them
   * @param retry waits while the registry is unavailable
   */
  public static Topology build(
      Topics topics,
      Registry registry,
      FeedbackStep step,
      PlannerMetrics metrics,
      RegistryRetry retry) {
    return new SingleProcessorTopology(registry)
        .reads(NodeName.READ_PREDICTIONS, topics.costPredictions())
        .reads(NodeName.READ_PLANS, topics.shardingPlans())
        .reads(NodeName.READ_STATUS, topics.planStatus())
        .reads(NodeName.READ_MEASURED, topics.measuredCosts())
        .writes(NodeName.WRITE_SAMPLES, topics.trainingSamples())
        .writes(NodeName.WRITE_ALARMS, topics.driftAlarms())
        .writes(NodeName.WRITE_SPEEDS, topics.deviceSpeeds())
        .writes(NodeName.WRITE_REJECTED, topics.rejectedEvents())
        .build(
            NodeName.COMPARE_COSTS,
            () -> new Compare(topics, registry, step, metrics, retry),
            KafkaFeedbackStore::builders);
  }

  private static final class Compare implements Processor<byte[], byte[], String, Object> {
    private final Topics topics;
    private final RecordDecoder<CostPredictions> predictions;
    private final RecordDecoder<ShardingPlan> plans;
    private final RecordDecoder<PlanStatus> statuses;
    private final RecordDecoder<MeasuredCosts> measured;
    private final FeedbackStep step;
    private final PlannerMetrics metrics;
    private final RegistryRetry retry;
    private ProcessorContext<String, Object> context;
    private KafkaFeedbackStore store;
    private Rejections rejections;
    private CommitPace pace;

    Compare(
        Topics topics,
        Registry registry,
        FeedbackStep step,
        PlannerMetrics metrics,
        RegistryRetry retry) {
      this.topics = topics;
      predictions =
          new RecordDecoder<>(registry, topics.costPredictions(), CostPredictions::workloadId);
      plans = new RecordDecoder<>(registry, topics.shardingPlans(), ShardingPlan::workloadId);
      statuses = new RecordDecoder<>(registry, topics.planStatus(), PlanStatus::workloadId);
      measured = new RecordDecoder<>(registry, topics.measuredCosts(), MeasuredCosts::workloadId);
      this.step = step;
      this.metrics = metrics;
      this.retry = retry;
    }

    @Override
    public void init(ProcessorContext<String, Object> newContext) {
      context = newContext;
      store = new KafkaFeedbackStore(newContext);
      rejections = new Rejections(newContext, metrics, NodeName.WRITE_REJECTED, retry);
      pace = new CommitPace(newContext);
      context.schedule(
          TopologyName.FEEDBACK.tick(), PunctuationType.WALL_CLOCK_TIME, now -> pace.tick());
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      RecordMetadata metadata = context.recordMetadata().orElseThrow();
      String topic = metadata.topic();
      SourcePosition source = new SourcePosition(topic, metadata.partition(), metadata.offset());
      if (topic.equals(topics.costPredictions().name())) {
        read(predictions, source, record, part -> step.take(store, part));
      } else if (topic.equals(topics.planStatus().name())) {
        read(statuses, source, record, status -> step.report(store, status));
      } else if (topic.equals(topics.shardingPlans().name())) {
        reject(plans, source, record, plan -> step.take(store, plan));
      } else {
        reject(
            measured,
            source,
            record,
            costs -> publish(step.measure(store, costs), record.timestamp()));
      }
    }

    /** Applies a record that planning reads too, and skips an invalid one: planning rejects it. */
    private <V> void read(
        RecordDecoder<V> decoder,
        SourcePosition source,
        Record<byte[], byte[]> record,
        Consumer<V> apply) {
      if (rejections.decode(decoder, record, source) instanceof Decoded.Value<V> value) {
        apply.accept(value.value());
      }
    }

    /** Applies a record that only this topology reads, or rejects it. */
    private <V> void reject(
        RecordDecoder<V> decoder,
        SourcePosition source,
        Record<byte[], byte[]> record,
        Consumer<V> apply) {
      if (rejections.handle(decoder, record, source, apply)) {
        pace.written();
      }
    }

    private void publish(Feedback feedback, long timestamp) {
      for (CostSample sample : feedback.samples()) {
        context.forward(
            new Record<>(feedback.hardware(), sample, timestamp), NodeName.WRITE_SAMPLES);
      }
      for (DriftAlarm alarm : feedback.alarms()) {
        context.forward(new Record<>(feedback.hardware(), alarm, timestamp), NodeName.WRITE_ALARMS);
      }
      feedback
          .speeds()
          .ifPresent(
              speeds ->
                  context.forward(
                      new Record<>(speeds.workloadId(), speeds, timestamp), NodeName.WRITE_SPEEDS));
      metrics.feedback().measured(feedback);
      if (!feedback.alarms().isEmpty() || feedback.speeds().isPresent()) {
        pace.written();
      }
    }
  }
}
