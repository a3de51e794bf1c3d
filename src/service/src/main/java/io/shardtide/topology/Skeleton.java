package io.shardtide.topology;

import io.shardtide.wire.Registry;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import java.util.function.Function;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;

/**
 * What a topology's processors share.
 *
 * @param name the topology
 * @param registry schemas of the records
 * @param topics with the partitions that they have, as far as they are known
 * @param metrics counts rejections, and shows keys in quarantine
 * @param retry waits while the registry is unavailable
 * @param failed what failed in this process
 */
record Skeleton(
    TopologyName name,
    Registry registry,
    Topics topics,
    PlannerMetrics metrics,
    RegistryRetry retry,
    FailedAttempts failed) {
  /**
   * Builds the topology as {@link TopologyName} declares it: one processor, topics that it reads as
   * bytes, from the beginning, its stores, and topics that it writes. Nothing runs yet.
   *
   * @param processor creates the processor, one for each task
   */
  Topology topology(Function<Skeleton, Processor<byte[], byte[], String, Object>> processor) {
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
        () -> processor.apply(this),
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
