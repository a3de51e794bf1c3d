package io.shardtide.topology;

import static io.shardtide.wire.TopicType.LARGE_RECORD_BYTES;
import static org.apache.kafka.clients.consumer.ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG;
import static org.apache.kafka.clients.consumer.ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG;
import static org.apache.kafka.clients.consumer.ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG;
import static org.apache.kafka.clients.consumer.ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG;
import static org.apache.kafka.clients.producer.ProducerConfig.BATCH_SIZE_CONFIG;
import static org.apache.kafka.clients.producer.ProducerConfig.LINGER_MS_CONFIG;
import static org.apache.kafka.clients.producer.ProducerConfig.MAX_REQUEST_SIZE_CONFIG;
import static org.apache.kafka.clients.producer.ProducerConfig.RETRY_BACKOFF_MS_CONFIG;
import static org.apache.kafka.clients.producer.ProducerConfig.TRANSACTION_TIMEOUT_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.CLEANUP_POLICY_COMPACT;
import static org.apache.kafka.common.config.TopicConfig.CLEANUP_POLICY_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.MAX_MESSAGE_BYTES_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.SEGMENT_BYTES_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.APPLICATION_ID_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.BOOTSTRAP_SERVERS_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.COMMIT_INTERVAL_MS_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.EXACTLY_ONCE_V2;
import static org.apache.kafka.streams.StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.NUM_STREAM_THREADS_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.POLL_MS_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.PROCESSING_GUARANTEE_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.REPLICATION_FACTOR_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.STATE_DIR_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.TASK_ASSIGNOR_CLASS_CONFIG;
import static org.apache.kafka.streams.StreamsConfig.TOPIC_PREFIX;
import static org.apache.kafka.streams.StreamsConfig.consumerPrefix;
import static org.apache.kafka.streams.StreamsConfig.mainConsumerPrefix;
import static org.apache.kafka.streams.StreamsConfig.producerPrefix;
import static org.apache.kafka.streams.StreamsConfig.topicPrefix;

import io.shardtide.config.ServiceSettings;
import io.shardtide.tls.ReloadingSslEngineFactory;
import java.time.Duration;
import java.util.Properties;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerConfig;
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
  private static final int CHANGELOG_SEGMENT_BYTES = 2 * LARGE_RECORD_BYTES;

  private StreamsProperties() {}

  /** Returns the configuration of a topology. */
  static Properties of(TopologyName name, ServiceSettings settings) {
    Properties properties = new Properties();
    properties.put(APPLICATION_ID_CONFIG, name.applicationId(settings.endpoint().prefix()));
    properties.put(BOOTSTRAP_SERVERS_CONFIG, settings.endpoint().bootstrapServers());
    properties.put(STATE_DIR_CONFIG, settings.streams().stateDirectory().toString());
    properties.put(NUM_STREAM_THREADS_CONFIG, settings.streams().threads());
    properties.put(REPLICATION_FACTOR_CONFIG, settings.topics().replication());
    properties.put(PROCESSING_GUARANTEE_CONFIG, EXACTLY_ONCE_V2);
    // CommitPace requests a commit of whatever was done. The interval adds commits of nothing, and
    // must not be longer than an operator's transaction.timeout.ms.
    properties.put(COMMIT_INTERVAL_MS_CONFIG, 1_000);
    // With little traffic, punctuators wait for the poll to end.
    properties.put(POLL_MS_CONFIG, name.tick().toMillis());
    // How long the partitions of a killed instance or a failed thread wait for the next one: the
    // least that brokers allow unless group.min.session.timeout.ms says otherwise.
    properties.put(mainConsumerPrefix(SESSION_TIMEOUT_MS_CONFIG), 6_000);
    // A member learns of a rebalance from the answer to its next heartbeat.
    properties.put(mainConsumerPrefix(HEARTBEAT_INTERVAL_MS_CONFIG), 300);
    // Partitions that are assigned meanwhile wait for the end of a fetch that found no records: at
    // most this long, instead of 500 ms, twice in a takeover.
    properties.put(consumerPrefix(FETCH_MAX_WAIT_MS_CONFIG), 100);
    if (name != TopologyName.FEEDBACK) {
      // Enough headers for a transaction; beside each is kept, uncounted, the record that it is of.
      properties.put(STATESTORE_CACHE_MAX_BYTES_CONFIG, 32 * 1024 * settings.streams().threads());
    }
    properties.put(NUM_STANDBY_REPLICAS_CONFIG, settings.streams().standbyReplicas());
    // Moves the fewest tasks; the default assignor moves most of them whenever a member comes.
    properties.put(TASK_ASSIGNOR_CLASS_CONFIG, StickyTaskAssignor.class.getName());
    // A commit flushes the producer, so that lingering delays nothing; see RATIONALE.md.
    properties.put(producerPrefix(LINGER_MS_CONFIG), 100);
    properties.put(producerPrefix(BATCH_SIZE_CONFIG), 256 * 1024);
    // Retry soon while the broker completes the previous transaction; the default is 100 ms.
    properties.put(producerPrefix(RETRY_BACKOFF_MS_CONFIG), 20);
    // A search that lasts longer is repeated for ever, and its partition waits; see RATIONALE.md.
    properties.put(producerPrefix(TRANSACTION_TIMEOUT_CONFIG), 60_000);
    properties.put(producerPrefix(MAX_REQUEST_SIZE_CONFIG), 2 * LARGE_RECORD_BYTES);
    properties.put(topicPrefix(MAX_MESSAGE_BYTES_CONFIG), Integer.toString(LARGE_RECORD_BYTES));
    // A restore reads all of the segment that Kafka writes to, which it never compacts.
    properties.put(topicPrefix(SEGMENT_BYTES_CONFIG), Integer.toString(CHANGELOG_SEGMENT_BYTES));
    TopicRules.TIMESTAMPS.forEach((setting, value) -> properties.put(topicPrefix(setting), value));
    for (String setting : settings.endpoint().kafka().keySet()) {
      // A setting without a prefix is for every client, but Kafka Streams would prefer ours.
      properties.remove(mainConsumerPrefix(setting));
      properties.remove(consumerPrefix(setting));
      properties.remove(producerPrefix(setting));
      properties.remove(topicPrefix(setting));
    }
    properties.putAll(ReloadingSslEngineFactory.with(settings.endpoint().kafka()));
    return properties;
  }

  /** Returns the settings with which Kafka Streams creates the changelogs of a topology. */
  static SortedMap<String, String> changelog(TopologyName name, ServiceSettings settings) {
    SortedMap<String, String> config = new TreeMap<>();
    config.put(CLEANUP_POLICY_CONFIG, CLEANUP_POLICY_COMPACT);
    of(name, settings)
        .forEach(
            (setting, value) -> {
              if (setting.toString().startsWith(TOPIC_PREFIX)) {
                config.put(setting.toString().substring(TOPIC_PREFIX.length()), value.toString());
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
                MAX_POLL_INTERVAL_MS_CONFIG,
                ConsumerConfig.configDef().defaultValues().get(MAX_POLL_INTERVAL_MS_CONFIG));
    return Duration.ofMillis(Long.parseLong(pollIntervalMs.toString()) / POLL_INTERVAL_PART);
  }
}
