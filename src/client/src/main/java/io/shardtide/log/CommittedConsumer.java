package io.shardtide.log;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Creates consumers of committed records, without a group. */
final class CommittedConsumer {
  /** How long a call waits for a cluster that sends nothing, unless the settings differ. */
  private static final Duration DEFAULT_PATIENCE = Duration.ofSeconds(30);

  private CommittedConsumer() {}

  static KafkaConsumer<byte[], byte[]> create(Map<String, ?> kafka) {
    Map<String, Object> config = new HashMap<>(kafka);
    config.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    config.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    config.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    // Where retention deleted the next record before it was read: the oldest that is left.
    config.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  static Duration patience(Map<String, ?> kafka) {
    Object timeout = kafka.get(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG);
    return timeout == null
        ? DEFAULT_PATIENCE
        : Duration.ofMillis(Long.parseLong(String.valueOf(timeout)));
  }
}
