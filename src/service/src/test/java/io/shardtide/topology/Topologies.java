package io.shardtide.topology;

import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;

/** Describes the topologies. */
final class Topologies {
  /** Is never called. */
  private static final class Described implements Processor<byte[], byte[], String, Object> {
    @Override
    public void process(Record<byte[], byte[]> record) {}
  }

  private Topologies() {}

  /** Returns Kafka Streams' description of each topology, by its name, in the order of the flow. */
  static Map<String, String> describe(Topics topics) {
    Map<String, String> descriptions = new LinkedHashMap<>();
    try (Registry registry = Registry.connect("mock://describe", Map.of())) {
      for (TopologyName name : TopologyName.values()) {
        Skeleton skeleton =
            new Skeleton(
                name,
                registry,
                topics,
                PlannerMetrics.unread(),
                new RegistryRetry(name, Duration.ZERO, new CountDownLatch(0), (of, reason) -> {}),
                new FailedAttempts(System::nanoTime));
        descriptions.put(
            name.toString(), skeleton.topology(s -> new Described()).describe().toString());
      }
    }
    return descriptions;
  }
}
