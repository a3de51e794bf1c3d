package io.shardtide.topology;

import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.planning.WorkloadStep;
import io.shardtide.wire.Decoded;
import io.shardtide.wire.EventDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * workload-changes to cost-predictions: reads, validates, folds into workloads, predicts what is
 * new or different. What cannot be applied goes to rejected-events as it came, and the stream goes
 * on.
 */
public final class WorkloadTopology {
  private static final String READ = "read-changes";
  private static final String APPLY = "apply-changes";
  private static final String WRITE_PREDICTIONS = "write-predictions";
  private static final String WRITE_REJECTED = "write-rejected";

  private WorkloadTopology() {}

  /**
   * Builds the topology; nothing runs yet.
   *
   * @param topics where to read and write
   * @param registry schemas of the records
   * @param step what is done with an event
   */
  public static Topology build(Topics topics, Registry registry, WorkloadStep step) {
    return build(topics, registry, step, PlannerMetrics.unread());
  }

  /** Builds the topology, and tells metrics what it does. */
  static Topology build(
      Topics topics, Registry registry, WorkloadStep step, PlannerMetrics metrics) {
    ProcessorSupplier<byte[], byte[], String, Object> supplier =
        new ProcessorSupplier<>() {
          @Override
          public Processor<byte[], byte[], String, Object> get() {
            return new Apply(new EventDecoder(registry), step, metrics);
          }

          @Override
          public Set<StoreBuilder<?>> stores() {
            return new LinkedHashSet<>(KafkaWorkloadStore.builders());
          }
        };
    return new Topology()
        .addSource(
            READ,
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer(),
            topics.workloadChanges().name())
        .addProcessor(APPLY, supplier, READ)
        .addSink(
            WRITE_PREDICTIONS,
            topics.costPredictions().name(),
            new StringSerializer(),
            registry.serde(topics.costPredictions()).serializer(),
            APPLY)
        .addSink(
            WRITE_REJECTED,
            topics.rejectedEvents().name(),
            new StringSerializer(),
            registry.serde(topics.rejectedEvents()).serializer(),
            APPLY);
  }

  private static final class Apply implements Processor<byte[], byte[], String, Object> {
    private final EventDecoder decoder;
    private final WorkloadStep step;
    private final PlannerMetrics metrics;
    private ProcessorContext<String, Object> context;
    private KafkaWorkloadStore store;

    Apply(EventDecoder decoder, WorkloadStep step, PlannerMetrics metrics) {
      this.decoder = decoder;
      this.step = step;
      this.metrics = metrics;
    }

    @Override
    public void init(ProcessorContext<String, Object> newContext) {
      context = newContext;
      store = new KafkaWorkloadStore(newContext);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      RecordMetadata metadata = context.recordMetadata().orElseThrow();
      SourcePosition source =
          new SourcePosition(metadata.topic(), metadata.partition(), metadata.offset());
      Decoded decoded = decoder.decode(source, record.key(), record.value());
      if (decoded instanceof Decoded.Rejected rejected) {
        reject(record, rejected);
      } else if (decoded instanceof Decoded.Event event) {
        apply(record, source, event.change());
      }
    }

    private void apply(Record<byte[], byte[]> record, SourcePosition source, WorkloadChange event) {
      List<CostPredictions> predictions;
      try {
        predictions = step.apply(store, source, event);
      } catch (RejectedException e) {
        reject(
            record,
            new Decoded.Rejected(EventDecoder.rejection(source, record.key(), record.value(), e)));
        return;
      }
      metrics.applied();
      for (CostPredictions part : predictions) {
        context.forward(
            new Record<>(event.workloadId(), part, record.timestamp()), WRITE_PREDICTIONS);
      }
    }

    private void reject(Record<byte[], byte[]> record, Decoded.Rejected rejected) {
      metrics.rejected(rejected.rejection().reason());
      String key = record.key() == null ? null : new String(record.key(), StandardCharsets.UTF_8);
      context.forward(new Record<>(key, rejected.rejection(), record.timestamp()), WRITE_REJECTED);
    }
  }
}
