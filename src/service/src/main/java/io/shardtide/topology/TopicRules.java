package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.config.ShellWord;
import io.shardtide.wire.Topic;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.streams.StreamsConfig;

/** What the settings of a topic on the cluster must be, so that no record is lost or refused. */
final class TopicRules {
  private static final String UNLIMITED = "-1";

  private final ServiceSettings settings;
  private final Topic<?> topic;
  private final int copies;
  private final List<TopicDifference> differences = new ArrayList<>();

  /**
   * @param copies the smallest number of replicas of the topic's partitions
   */
  TopicRules(ServiceSettings settings, Topic<?> topic, int copies) {
    this.settings = settings;
    this.topic = topic;
    this.copies = copies;
  }

  /**
   * Returns the settings to create a topic with, whatever the cluster's defaults are.
   *
   * @param kafka settings for Kafka's clients; {@code topic.segment.bytes} is for all compacted
   *     topics, as Kafka Streams takes it for changelogs
   */
  static Map<String, String> created(Topic<?> topic, Map<String, String> kafka) {
    Map<String, String> config = new HashMap<>(topic.config());
    String segment = kafka.get(StreamsConfig.topicPrefix(TopicConfig.SEGMENT_BYTES_CONFIG));
    if (segment != null) {
      config.replace(TopicConfig.SEGMENT_BYTES_CONFIG, segment);
    }
    config.putIfAbsent(TopicConfig.CLEANUP_POLICY_CONFIG, TopicConfig.CLEANUP_POLICY_DELETE);
    return config;
  }

  /** Returns the options of Kafka's own tools that name the cluster. */
  static String connection(ServiceSettings settings) {
    return "--bootstrap-server "
        + ShellWord.of(settings.connection().bootstrapServers())
        + (settings.connection().kafka().containsKey("security.protocol")
            ? " --command-config FILE"
            : "");
  }

  /** Returns the settings of the topic that would lose or refuse records. */
  List<TopicDifference> differences(Config config) {
    Set<String> cleanup = new TreeSet<>();
    Arrays.stream(value(config, TopicConfig.CLEANUP_POLICY_CONFIG).split(",", -1))
        .map(String::strip)
        .filter(policy -> !policy.isEmpty())
        .forEach(cleanup::add);
    switch (topic.retention()) {
      case FOREVER -> forever(config, cleanup);
      case LATEST -> {
        if (!cleanup.equals(Set.of(TopicConfig.CLEANUP_POLICY_COMPACT))) {
          refuse(
              config,
              TopicConfig.CLEANUP_POLICY_CONFIG,
              TopicConfig.CLEANUP_POLICY_COMPACT,
              "the latest record of each key must be kept");
        }
      }
      case CLUSTER_DEFAULT -> {
        if (cleanup.contains(TopicConfig.CLEANUP_POLICY_COMPACT)) {
          refuse(
              config,
              TopicConfig.CLEANUP_POLICY_CONFIG,
              TopicConfig.CLEANUP_POLICY_DELETE,
              "compaction would delete records that are needed");
        }
      }
    }
    long limit = number(config, TopicConfig.MAX_MESSAGE_BYTES_CONFIG);
    if (limit < topic.maxMessageBytes()) {
      differ(
          config,
          TopicConfig.MAX_MESSAGE_BYTES_CONFIG,
          Integer.toString(topic.maxMessageBytes()),
          limit < topic.leastMessageBytes()
              ? "records can be that large"
              : "larger records are refused",
          limit < topic.leastMessageBytes());
    }
    if (number(config, TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG) > copies) {
      refuse(
          config,
          TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG,
          Integer.toString(copies),
          "a partition with %d replicas could not be written".formatted(copies));
    }
    return differences;
  }

  private void forever(Config config, Set<String> cleanup) {
    if (cleanup.contains(TopicConfig.CLEANUP_POLICY_COMPACT)) {
      refuse(
          config,
          TopicConfig.CLEANUP_POLICY_CONFIG,
          TopicConfig.CLEANUP_POLICY_DELETE,
          "compaction would delete records that a replay needs");
    }
    // A topic with neither policy keeps all records, whatever its limits.
    if (!cleanup.isEmpty()) {
      for (String limit :
          List.of(TopicConfig.RETENTION_MS_CONFIG, TopicConfig.RETENTION_BYTES_CONFIG)) {
        if (!value(config, limit).equals(UNLIMITED)) {
          refuse(config, limit, UNLIMITED, "a replay needs all records");
        }
      }
    }
  }

  private void refuse(Config config, String setting, String wanted, String reason) {
    differ(config, setting, wanted, reason, true);
  }

  private void differ(
      Config config, String setting, String wanted, String reason, boolean refused) {
    differences.add(
        new TopicDifference(
            topic.name(),
            setting,
            value(config, setting),
            wanted,
            refused,
            reason,
            "kafka-configs.sh %s --alter --entity-type topics --entity-name %s --add-config %s=%s"
                .formatted(connection(settings), topic.name(), setting, wanted)));
  }

  private static String value(Config config, String setting) {
    return config.get(setting) == null ? "" : config.get(setting).value();
  }

  private static long number(Config config, String setting) {
    String value = value(config, setting);
    return value.isEmpty() ? 0 : Long.parseLong(value);
  }
}
