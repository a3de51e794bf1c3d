package io.shardtide.topology;

import io.shardtide.wire.Registry;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Builds the topologies as {@link TopologyName} declares them: one processor, topics that it reads
 * as bytes, from the beginning, its stores, and topics that it writes.
 */
public final class Topologies {
  /** Is never called. */
  private static final class Described implements Processor<byte[], byte[], String, Object> {
    @Override
    public void process(Record<byte[], byte[]> record) {}
  }

  private Topologies() {}

  /** Returns Kafka Streams' description of each topology, by its name, in the order of the flow. */
  public static Map<String, String> describe(Topics topics) {
    Map<String, String> descriptions = new LinkedHashMap<>();
    try (Registry registry = Registry.connect("mock://describe", Map.of())) {
      for (TopologyName name : TopologyName.values()) {
        Topology topology = build(name, topics, registry, Described::new);
        descriptions.put(name.toString(), topology.describe().toString());
      }
    }
    return descriptions;
  }

  /**
   * Builds a topology; nothing runs yet.
   *
   * @param registry schemas of the records
   * @param processor creates the processor, one for each task
   */
  static Topology build(
      TopologyName name,
      Topics topics,
      Registry registry,
      ProcessorSupplier<byte[], byte[], String, Object> processor) {
    Topology topology = new Topology();
    for (TopicType<?> type : name.follows()) {
      topology.addSource(
          AutoOffsetReset.earliest(),
          TopologyName.source(type),
          new ClampedTimestampExtractor(System::currentTimeMillis),
          new ByteArrayDeserializer(),
          new ByteArrayDeserializer(),
          topics.of(type).name());
    }
    topology.addProcessor(
        name.toString(),
        processor,
        name.follows().stream().map(TopologyName::source).toArray(String[]::new));
    StoreName.of(name).forEach(store -> topology.addStateStore(store.builder(), name.toString()));
    for (TopicType<?> type : name.writes()) {
      topology.addSink(
          TopologyName.sink(type),
          topics.of(type).name(),
          new StringSerializer(),
          new SizeLimit<>(registry, topics.of(type)),
          name.toString());
    }
    name.latest().forEach(type -> LatestRecords.add(topology, topics.of(type)));
    return topology;
  }
}
