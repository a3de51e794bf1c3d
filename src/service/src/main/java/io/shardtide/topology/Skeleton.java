package io.shardtide.topology;

import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.util.function.Function;
import org.apache.kafka.streams.Topology;

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
   * Builds the topology; nothing runs yet.
   *
   * @param processor creates the processor, one for each task
   */
  Topology topology(Function<Skeleton, KeyedProcessor> processor) {
    return Topologies.build(name, topics, registry, () -> processor.apply(this));
  }
}
