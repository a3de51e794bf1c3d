package io.shardtide.wire;

import java.util.Map;
import org.apache.kafka.common.config.TopicConfig;

/**
 * A topic: its name, the type of its values, and its retention.
 *
 * @param name full name, with the prefix
 * @param codec converts the values
 * @param retention retention of the records
 * @param maxMessageBytes maximum size of a record, in bytes
 * @param leastMessageBytes the smallest limit with which an existing topic is accepted: that of
 *     earlier versions; larger records are then refused, each by itself
 * @param <V> type of the values
 */
public record Topic<V>(
    String name,
    Codec<V, ?> codec,
    Retention retention,
    int maxMessageBytes,
    int leastMessageBytes) {

  /**
   * Segment size of a compacted topic, in its largest records. Kafka never compacts the segment
   * that it writes to, and a reader from the beginning reads all of it: 1 GiB of each partition
   * with Kafka's default. A segment must hold the largest record.
   */
  private static final int COMPACTED_SEGMENT_RECORDS = 2;

  /** Retention of records. */
  public enum Retention {
    /** All records, for replays. */
    FOREVER,
    /** The latest record of each key. */
    LATEST,
    /** The cluster's default retention. */
    CLUSTER_DEFAULT
  }

  /** Returns the topic's settings that differ from a cluster's defaults. */
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
