package io.shardtide.topology;

import static org.apache.kafka.streams.StreamsConfig.consumerPrefix;
import static org.apache.kafka.streams.StreamsConfig.mainConsumerPrefix;
import static org.apache.kafka.streams.StreamsConfig.producerPrefix;
import static org.apache.kafka.streams.StreamsConfig.topicPrefix;

import io.shardtide.config.ServiceSettings;
import io.shardtide.tls.ReloadingSslEngineFactory;
import io.shardtide.wire.TopicType;
import java.time.Duration;
import java.util.Properties;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;

/** The configuration of Kafka Streams; RATIONALE.md explains the values. */
final class StreamsProperties {
  /**
   * Part of {@code max.poll.interval.ms} for which a thread waits for the registry. Kafka Streams
   * polls before half of the interval has passed, so that a sixth of it is left for the last call
   * of the registry.
   */
  private static final int POLL_INTERVAL_PART = 3;

  /**
   * Segment size of changelogs: two of the largest records, as of {@link io.shardtide.wire.Topic}'s
   * compacted topics. Kafka's default is 1 GiB.
   */
  private static final int CHANGELOG_SEGMENT_BYTES = 2 * TopicType.LARGE_RECORD_BYTES;

  private StreamsProperties() {}

  /** Returns the configuration of a topology. */
  static Properties of(TopologyName name, ServiceSettings settings) {
    Properties properties = new Properties();
    properties.put(
        StreamsConfig.APPLICATION_ID_CONFIG, name.applicationId(settings.topics().prefix()));
    properties.put(
        StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, settings.connection().bootstrapServers());
    properties.put(StreamsConfig.STATE_DIR_CONFIG, settings.streams().stateDirectory().toString());
    properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, settings.streams().threads());
    properties.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, settings.topics().replication());
    properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    // CommitPace requests a commit of whatever was done. The interval adds commits of nothing, and
    // must not be longer than an operator's transaction.timeout.ms.
    properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1_000);
    // With little traffic, punctuators wait for the poll to end.
    properties.put(StreamsConfig.POLL_MS_CONFIG, name.tick().toMillis());
    // How long the partitions of a killed instance or a failed thread wait for the next one: the
    // least that brokers allow unless group.min.session.timeout.ms says otherwise.
    properties.put(mainConsumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 6_000);
    // A member learns of a rebalance from the answer to its next heartbeat.
    properties.put(mainConsumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), 300);
    // Partitions that are assigned meanwhile wait for the end of a fetch that found no records: at
    // most this long, instead of 500 ms, twice in a takeover.
    properties.put(consumerPrefix(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG), 100);
    if (name != TopologyName.FEEDBACK) {
      // Enough headers for a transaction; beside each is kept, uncounted, the record that it is of.
      properties.put(
          StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG,
          32 * 1024 * settings.streams().threads());
    }
    properties.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, settings.streams().standbyReplicas());
    // Moves the fewest tasks; the default assignor moves most of them whenever a member comes.
    properties.put(StreamsConfig.TASK_ASSIGNOR_CLASS_CONFIG, StickyTaskAssignor.class.getName());
    // A commit flushes the producer, so that lingering delays nothing; see RATIONALE.md.
    properties.put(producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 100);
    properties.put(producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 256 * 1024);
    // Retry soon while the broker completes the previous transaction; the default is 100 ms.
    properties.put(producerPrefix(ProducerConfig.RETRY_BACKOFF_MS_CONFIG), 20);
    // A search that lasts longer is repeated for ever, and its partition waits; see RATIONALE.md.
    properties.put(producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG), 60_000);
    properties.put(
        producerPrefix(ProducerConfig.MAX_REQUEST_SIZE_CONFIG), 2 * TopicType.LARGE_RECORD_BYTES);
    properties.put(
        topicPrefix(TopicConfig.MAX_MESSAGE_BYTES_CONFIG),
        Integer.toString(TopicType.LARGE_RECORD_BYTES));
    // A restore reads all of the segment that Kafka writes to, which it never compacts.
    properties.put(
        topicPrefix(TopicConfig.SEGMENT_BYTES_CONFIG), Integer.toString(CHANGELOG_SEGMENT_BYTES));
    TopicRules.TIMESTAMPS.forEach((setting, value) -> properties.put(topicPrefix(setting), value));
    for (String setting : settings.connection().kafka().keySet()) {
      // A setting without a prefix is for every client, but Kafka Streams would prefer ours.
      properties.remove(mainConsumerPrefix(setting));
      properties.remove(consumerPrefix(setting));
      properties.remove(producerPrefix(setting));
      properties.remove(topicPrefix(setting));
    }
    properties.putAll(ReloadingSslEngineFactory.with(settings.connection().kafka()));
    return properties;
  }

  /** Returns the settings with which Kafka Streams creates the changelogs of a topology. */
  static SortedMap<String, String> changelog(TopologyName name, ServiceSettings settings) {
    SortedMap<String, String> config = new TreeMap<>();
    config.put(TopicConfig.CLEANUP_POLICY_CONFIG, TopicConfig.CLEANUP_POLICY_COMPACT);
    of(name, settings)
        .forEach(
            (setting, value) -> {
              if (setting.toString().startsWith(StreamsConfig.TOPIC_PREFIX)) {
                config.put(
                    setting.toString().substring(StreamsConfig.TOPIC_PREFIX.length()),
                    value.toString());
              }
            });
    return config;
  }

  /** Returns how long a stream thread may wait for the schema registry. */
  static Duration registryWait(Properties properties) {
    Object pollIntervalMs =
        new StreamsConfig(properties)
            .getMainConsumerConfigs("any", "any", 0)
            .getOrDefault(
                ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG,
                ConsumerConfig.configDef()
                    .defaultValues()
                    .get(ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG));
    return Duration.ofMillis(Long.parseLong(pollIntervalMs.toString()) / POLL_INTERVAL_PART);
  }
}
