package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.config.ShellWord;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType.Retention;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.streams.StreamsConfig;

/**
 * What the settings of a topic or a changelog on the cluster must be, so that no record is lost or
 * refused.
 *
 * @param config its settings
 * @param copies the smallest number of replicas of its partitions
 * @param differences what was found so far
 */
record TopicRules(
    ServiceSettings settings,
    String name,
    Config config,
    int copies,
    List<TopicDifference> differences) {
  private static final String UNLIMITED = "-1";

  /**
   * How old a record may be by its timestamp, in ms: what planners write is at most half as old
   * ({@link StreamsClients}), and may wait for a broker.
   */
  static final long RECORD_AGE_MS = 3_600_000;

  /** How far clocks of planners may be ahead of a broker's, in ms: as the alert ClockWrong. */
  private static final long CLOCK_DIFFERENCE_MS = 5_000;

  /**
   * Which timestamps the topics and changelogs of a planner take: records of any age, and those of
   * clocks that are ahead as far as Kafka accepts by default.
   */
  static final Map<String, String> TIMESTAMPS =
      Map.of(
          TopicConfig.MESSAGE_TIMESTAMP_BEFORE_MAX_MS_CONFIG,
          Long.toString(Long.MAX_VALUE),
          TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG,
          "3600000");

  /** Returns the settings of a topic that would lose or refuse records. */
  static List<TopicDifference> of(
      ServiceSettings settings, Topic<?> topic, Config config, int copies) {
    return new TopicRules(settings, topic.name(), config, copies, new ArrayList<>())
        .check(
            topic.type().retention(),
            topic.maxMessageBytes(),
            Math.min(topic.maxMessageBytes(), topic.type().leastMessageBytes()));
  }

  /**
   * Returns those of a changelog.
   *
   * @param created the settings with which Kafka Streams creates it
   */
  static List<TopicDifference> ofChangelog(
      ServiceSettings settings,
      String name,
      Config config,
      int copies,
      Map<String, String> created) {
    String setting = TopicConfig.MAX_MESSAGE_BYTES_CONFIG;
    int bytes = (Integer) ConfigDef.parseType(setting, created.get(setting), ConfigDef.Type.INT);
    return new TopicRules(settings, name, config, copies, new ArrayList<>())
        .check(Retention.LATEST, bytes, bytes);
  }

  /**
   * Returns the settings to create a topic with, whatever the cluster's defaults are.
   *
   * @param kafka settings for Kafka's clients; {@code topic.segment.bytes} is for all compacted
   *     topics, as Kafka Streams takes it for changelogs
   */
  static Map<String, String> created(Topic<?> topic, Map<String, String> kafka) {
    Map<String, String> config = new HashMap<>(topic.config());
    config.putAll(TIMESTAMPS);
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

  private List<TopicDifference> check(
      Retention retention, int maxMessageBytes, int leastMessageBytes) {
    Set<String> cleanup =
        new HashSet<>(List.of(value(TopicConfig.CLEANUP_POLICY_CONFIG).strip().split("\\s*,\\s*")));
    cleanup.remove("");
    String compact = TopicConfig.CLEANUP_POLICY_COMPACT;
    boolean isLatest = retention == Retention.LATEST;
    if (isLatest ? !cleanup.equals(Set.of(compact)) : cleanup.contains(compact)) {
      refuse(
          TopicConfig.CLEANUP_POLICY_CONFIG,
          isLatest ? compact : TopicConfig.CLEANUP_POLICY_DELETE,
          switch (retention) {
            case FOREVER -> "compaction would delete records that a replay needs";
            case LATEST -> "the latest record of each key must be kept";
            case CLUSTER_DEFAULT -> "compaction would delete records that are needed";
          });
    }
    // A topic with neither policy keeps all records, whatever its limits.
    if (retention == Retention.FOREVER && !cleanup.isEmpty()) {
      for (String limit :
          List.of(TopicConfig.RETENTION_MS_CONFIG, TopicConfig.RETENTION_BYTES_CONFIG)) {
        if (!value(limit).equals(UNLIMITED)) {
          refuse(limit, UNLIMITED, "a replay needs all records");
        }
      }
    }
    long limit = number(TopicConfig.MAX_MESSAGE_BYTES_CONFIG);
    if (limit < maxMessageBytes) {
      differ(
          TopicConfig.MAX_MESSAGE_BYTES_CONFIG,
          Integer.toString(maxMessageBytes),
          limit < leastMessageBytes ? "records can be that large" : "larger records are refused",
          limit < leastMessageBytes);
    }
    if (number(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG) > copies) {
      refuse(
          TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG,
          Integer.toString(copies),
          "a partition with %d replicas could not be written".formatted(copies));
    }
    // With LogAppendTime a broker sets the time of each record and refuses none.
    if (!value(TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG)
        .equals(TimestampType.LOG_APPEND_TIME.name)) {
      atLeast(
          TopicConfig.MESSAGE_TIMESTAMP_BEFORE_MAX_MS_CONFIG,
          RECORD_AGE_MS,
          "the broker would refuse records that waited, again and again");
      atLeast(
          TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG,
          CLOCK_DIFFERENCE_MS,
          "the broker would refuse records of a clock that is a little ahead");
    }
    return differences;
  }

  /** Refuses a limit that is too small; brokers before 3.6 do not have those of timestamps. */
  private void atLeast(String setting, long least, String reason) {
    if (!value(setting).isEmpty() && number(setting) < least) {
      refuse(setting, Long.toString(least), reason);
    }
  }

  private void refuse(String setting, String wanted, String reason) {
    differ(setting, wanted, reason, true);
  }

  private void differ(String setting, String wanted, String reason, boolean refused) {
    differences.add(
        new TopicDifference(
            name,
            setting,
            value(setting),
            wanted,
            refused,
            reason,
            "kafka-configs.sh %s --alter --entity-type topics --entity-name %s --add-config %s=%s"
                .formatted(connection(settings), name, setting, wanted)));
  }

  private String value(String setting) {
    return config.get(setting) == null ? "" : config.get(setting).value();
  }

  private long number(String setting) {
    String value = value(setting);
    return value.isEmpty() ? 0 : Long.parseLong(value);
  }
}
