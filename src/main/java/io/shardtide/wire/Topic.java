package io.shardtide.wire;

import java.util.Map;
import org.apache.kafka.common.config.TopicConfig;

/**
 * A topic: its name, what its values are, and how long they stay.
 *
 * @param name full name, with the prefix
 * @param codec what the values are
 * @param retention how long records stay
 * @param maxMessageBytes the largest record, in bytes
 * @param <V> the program's value
 */
public record Topic<V>(String name, Codec<V, ?> codec, Retention retention, int maxMessageBytes) {

  /**
   * Segment size of a compacted topic, in its largest records. Kafka never compacts the segment
   * that it writes to, and who reads a compacted topic from the beginning reads all of it: 1 GiB of
   * each partition with Kafka's default. A segment must hold the largest record.
   */
  private static final int COMPACTED_SEGMENT_RECORDS = 2;

  /** How long records stay. */
  public enum Retention {
    /** For ever: a replay needs them. */
    FOREVER,
    /** The latest record of each key. */
    LATEST,
    /** As long as the cluster's default says. */
    CLUSTER_DEFAULT
  }

  /** Returns the topic's settings where they differ from a cluster's defaults. */
  public Map<String, String> config() {
    Map<String, String> size =
        Map.of(TopicConfig.MAX_MESSAGE_BYTES_CONFIG, Integer.toString(maxMessageBytes));
    return switch (retention) {
      case FOREVER ->
          Map.of(
              TopicConfig.MAX_MESSAGE_BYTES_CONFIG,
              Integer.toString(maxMessageBytes),
              TopicConfig.RETENTION_MS_CONFIG,
              "-1",
              TopicConfig.RETENTION_BYTES_CONFIG,
              "-1");
      case LATEST ->
          Map.of(
              TopicConfig.MAX_MESSAGE_BYTES_CONFIG,
              Integer.toString(maxMessageBytes),
              TopicConfig.CLEANUP_POLICY_CONFIG,
              TopicConfig.CLEANUP_POLICY_COMPACT,
              TopicConfig.SEGMENT_BYTES_CONFIG,
              Integer.toString(COMPACTED_SEGMENT_RECORDS * maxMessageBytes));
      case CLUSTER_DEFAULT -> size;
    };
  }
}
