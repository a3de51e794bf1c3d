package io.shardtide.wire;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.TopicConfig;

/**
 * A topic of a cluster.
 *
 * @param name full name, with the prefix
 * @param type what does not depend on the cluster
 * @param maxMessageBytes maximum size of a record, in bytes
 * @param <V> type of the values
 */
public record Topic<V>(String name, TopicType<V> type, int maxMessageBytes) {

  /**
   * Segment size of a compacted topic, in its largest records. Kafka never compacts the segment
   * that it writes to, and a reader from the beginning reads all of it: 1 GiB of each partition
   * with Kafka's default. A segment must hold the largest record.
   */
  private static final int COMPACTED_SEGMENT_RECORDS = 2;

  /** Returns the topic's settings that differ from a cluster's defaults. */
  public Map<String, String> config() {
    Map<String, String> config = new HashMap<>();
    config.put(TopicConfig.MAX_MESSAGE_BYTES_CONFIG, Integer.toString(maxMessageBytes));
    switch (type.retention()) {
      case FOREVER -> {
        config.put(TopicConfig.RETENTION_MS_CONFIG, "-1");
        config.put(TopicConfig.RETENTION_BYTES_CONFIG, "-1");
      }
      case LATEST -> {
        config.put(TopicConfig.CLEANUP_POLICY_CONFIG, TopicConfig.CLEANUP_POLICY_COMPACT);
        config.put(
            TopicConfig.SEGMENT_BYTES_CONFIG,
            Integer.toString(COMPACTED_SEGMENT_RECORDS * maxMessageBytes));
      }
      case CLUSTER_DEFAULT -> {}
    }
    return config;
  }
}
