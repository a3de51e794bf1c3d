package io.shardtide.topology;

import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
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
  private final Registry registry;
  private final Topology topology = new Topology();
  private final List<String> sources = new ArrayList<>();
  private final Map<String, Topic<?>> sinks = new LinkedHashMap<>();

  SingleProcessorTopology(Registry registry) {
    this.registry = registry;
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
   * @param stores creates its stores
   */
  Topology build(
      String node,
      Supplier<Processor<byte[], byte[], String, Object>> processor,
      Supplier<List<StoreBuilder<?>>> stores) {
    topology.addProcessor(
        node,
        new ProcessorSupplier<byte[], byte[], String, Object>() {
          @Override
          public Processor<byte[], byte[], String, Object> get() {
            return processor.get();
          }

          @Override
          public Set<StoreBuilder<?>> stores() {
            return new LinkedHashSet<>(stores.get());
          }
        },
        sources.toArray(new String[0]));
    sinks.forEach(
        (sink, topic) ->
            topology.addSink(
                sink,
                topic.name(),
                new StringSerializer(),
                registry.serde(topic).serializer(),
                node));
    return topology;
  }
}
