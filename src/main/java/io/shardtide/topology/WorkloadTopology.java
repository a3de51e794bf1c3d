package io.shardtide.topology;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.planning.WorkloadStep;
import io.shardtide.wire.PredictionKey;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.LongSupplier;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * workload-changes to cost-predictions and, compacted, current-predictions: decodes and validates
 * events, applies them to workloads, and predicts the costs of new and changed tables. Events that
 * cannot be applied go to rejected-events with their original bytes.
 */
public final class WorkloadTopology {
  private WorkloadTopology() {}

  /**
   * Builds the topology; nothing runs yet.
   *
   * @param topics where to read and write
   * @param registry schemas of the records
   * @param step applies events
   * @param models number of model changes so far; an increase triggers new predictions
   * @param metrics counts events and times them
   * @param retry waits while the registry is unavailable
   */
  public static Topology build(
      Topics topics,
      Registry registry,
      WorkloadStep step,
      LongSupplier models,
      PlannerMetrics metrics,
      RegistryRetry retry) {
    return new SingleProcessorTopology(registry)
        .reads(NodeName.READ_CHANGES, topics.workloadChanges())
        .writes(NodeName.WRITE_PREDICTIONS, topics.costPredictions())
        .writes(NodeName.WRITE_CURRENT_PREDICTIONS, topics.currentPredictions())
        .writes(NodeName.WRITE_REJECTED, topics.rejectedEvents())
        .build(
            NodeName.APPLY_CHANGES,
            () ->
                new Apply(
                    new RecordDecoder<>(
                        registry, topics.workloadChanges(), WorkloadChange::workloadId),
                    step,
                    models,
                    metrics,
                    retry),
            KafkaWorkloadStore::builders);
  }

  private static final class Apply implements Processor<byte[], byte[], String, Object> {
    private final RecordDecoder<WorkloadChange> decoder;
    private final WorkloadStep step;
    private final LongSupplier models;
    private final PlannerMetrics metrics;
    private final RegistryRetry retry;
    private final Deque<String> outdated = new ArrayDeque<>();
    private long seenModels = -1;
    private ProcessorContext<String, Object> context;
    private KafkaWorkloadStore store;
    private Rejections rejections;
    private CommitPace pace;

    Apply(
        RecordDecoder<WorkloadChange> decoder,
        WorkloadStep step,
        LongSupplier models,
        PlannerMetrics metrics,
        RegistryRetry retry) {
      this.decoder = decoder;
      this.step = step;
      this.models = models;
      this.metrics = metrics;
      this.retry = retry;
    }

    @Override
    public void init(ProcessorContext<String, Object> newContext) {
      context = newContext;
      store = new KafkaWorkloadStore(newContext);
      rejections = new Rejections(newContext, metrics, NodeName.WRITE_REJECTED, retry);
      pace = new CommitPace(newContext);
      context.schedule(
          TopologyName.WORKLOAD.tick(), PunctuationType.WALL_CLOCK_TIME, now -> tick());
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      RecordMetadata metadata = context.recordMetadata().orElseThrow();
      SourcePosition source =
          new SourcePosition(metadata.topic(), metadata.partition(), metadata.offset());
      boolean rejected =
          rejections.handle(
              decoder, record, source, event -> apply(source, event, record.timestamp()));
      if (rejected) {
        pace.written();
      }
    }

    private void tick() {
      repredict();
      pace.tick();
    }

    private void apply(SourcePosition source, WorkloadChange event, long timestamp) {
      forward(retry.call(() -> step.apply(store, source, event)), timestamp);
      metrics.applied();
    }

    private void repredict() {
      long now = models.getAsLong();
      if (now != seenModels) {
        seenModels = now;
        outdated.clear();
        outdated.addAll(store.workloads(step::isOutdated));
      }
      if (!outdated.isEmpty()) {
        forward(step.repredict(store, outdated.removeFirst()), context.currentSystemTimeMs());
      }
    }

    private void forward(List<CostPredictions> predictions, long timestamp) {
      for (CostPredictions part : predictions) {
        context.forward(
            new Record<>(part.workloadId(), part, timestamp), NodeName.WRITE_PREDICTIONS);
        if (part.update().isPresent()) {
          forwardCurrent(part, timestamp);
        }
        if (part.isLast()) {
          if (!part.isDeletion()) {
            forwardCurrent(part.withoutTable(), timestamp);
          }
          pace.written();
        }
      }
    }

    /** Writes the latest predictions of a key; a tombstone for a dropped table or a deletion. */
    private void forwardCurrent(CostPredictions part, long timestamp) {
      boolean isGone = part.isDeletion() || part.update().orElse(null) instanceof Update.Dropped;
      context.forward(
          new Record<>(PredictionKey.of(part).text(), isGone ? null : part, timestamp),
          NodeName.WRITE_CURRENT_PREDICTIONS);
    }
  }
}
