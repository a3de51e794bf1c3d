package io.shardtide.topology;

import static io.shardtide.wire.TopicType.QUARANTINE;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;

import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * Builds a topology with a single processor: topics that it reads as bytes, from the beginning, its
 * stores, and topics that it writes.
 */
final class SingleProcessorTopology {
  private final Skeleton skeleton;
  private final Topology topology = new Topology();
  private final List<String> sources = new ArrayList<>();
  private final Map<String, Topic<?>> sinks = new LinkedHashMap<>();

  /**
   * @param name the topology
   * @param registry schemas of the records
   * @param topics where rejections and quarantines are written; with partitions, if known
   * @param metrics counts rejections, and shows keys in quarantine
   * @param retry waits while the registry is unavailable
   */
  SingleProcessorTopology(
      TopologyName name,
      Registry registry,
      Topics topics,
      PlannerMetrics metrics,
      RegistryRetry retry) {
    skeleton =
        new Skeleton(
            name,
            registry,
            topics,
            metrics,
            retry,
            new FailedAttempts(System::nanoTime),
            Faults.INJECTED.get());
    writes(NodeName.WRITE_REJECTED, topics.of(REJECTED_EVENTS));
    writes(NodeName.WRITE_QUARANTINE, topics.of(QUARANTINE));
  }

  /** Adds a source topic. */
  SingleProcessorTopology reads(String node, Topic<?> topic) {
    topology.addSource(
        AutoOffsetReset.earliest(),
        node,
        new ClampedTimestampExtractor(System::currentTimeMillis),
        new ByteArrayDeserializer(),
        new ByteArrayDeserializer(),
        topic.name());
    sources.add(node);
    return this;
  }

  /**
   * Adds a topic of which each instance reads all partitions: see {@link LatestRecords}.
   *
   * @param node name of the source
   */
  SingleProcessorTopology readsLatest(String node, Topic<?> topic) {
    LatestRecords.add(topology, node, topic);
    return this;
  }

  /** Adds a sink topic. */
  SingleProcessorTopology writes(String node, Topic<?> topic) {
    sinks.put(node, topic);
    return this;
  }

  /**
   * Builds the topology.
   *
   * @param node name of the processor
   * @param processor creates the processor, one for each task
   */
  Topology build(String node, Function<Skeleton, KeyedProcessor> processor) {
    topology.addProcessor(
        node,
        new ProcessorSupplier<byte[], byte[], String, Object>() {
          @Override
          public Processor<byte[], byte[], String, Object> get() {
            return processor.apply(skeleton);
          }

          @Override
          public Set<StoreBuilder<?>> stores() {
            return StoreName.of(skeleton.name()).stream()
                .map(StoreName::builder)
                .collect(Collectors.toCollection(LinkedHashSet::new));
          }
        },
        sources.toArray(new String[0]));
    sinks.forEach(
        (sink, topic) ->
            topology.addSink(
                sink,
                topic.name(),
                new StringSerializer(),
                new SizeLimit<>(skeleton.registry(), topic),
                node));
    return topology;
  }
}
