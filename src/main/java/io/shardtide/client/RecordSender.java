package io.shardtide.client;

import io.shardtide.domain.SourcePosition;
import io.shardtide.log.ClusterUnavailableException;
import io.shardtide.wire.Topic;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes records with an idempotent producer: each once, in order, to all in-sync replicas. Safe
 * for use by several threads.
 */
final class RecordSender implements AutoCloseable {
  /** How long {@link #close} waits for records that are being sent. */
  static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

  private final String bootstrapServers;
  private final KafkaProducer<String, byte[]> producer;

  /**
   * @param endpoint the cluster
   * @param maxRequestBytes the largest record in bytes, unless the endpoint's settings differ
   */
  RecordSender(Endpoint endpoint, int maxRequestBytes) {
    bootstrapServers = endpoint.bootstrapServers();
    producer =
        new KafkaProducer<>(
            endpoint.clients(
                Map.of(
                    ProducerConfig.LINGER_MS_CONFIG,
                    0,
                    ProducerConfig.MAX_REQUEST_SIZE_CONFIG,
                    maxRequestBytes),
                Map.of(
                    ProducerConfig.ACKS_CONFIG,
                    "all",
                    ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG,
                    true,
                    ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION,
                    1)),
            new StringSerializer(),
            new ByteArraySerializer());
  }

  /**
   * Sends a record. May block for {@code max.block.ms}: until the cluster has told where the topic
   * is, and while the producer's buffer is full.
   *
   * @return the record's position, when all in-sync replicas have it; or Kafka's error
   */
  @SuppressWarnings("FutureReturnValueIgnored") // The callback receives failures.
  <V> CompletableFuture<SourcePosition> send(
      Topic<V> topic, Serializer<V> serializer, String key, V value) {
    CompletableFuture<SourcePosition> sent = new CompletableFuture<>();
    producer.send(
        new ProducerRecord<>(topic.name(), key, serializer.serialize(topic.name(), value)),
        (metadata, error) -> {
          if (error == null) {
            sent.complete(
                new SourcePosition(metadata.topic(), metadata.partition(), metadata.offset()));
          } else {
            sent.completeExceptionally(
                error instanceof TimeoutException
                    ? new ClusterUnavailableException(bootstrapServers, error)
                    : error);
          }
        });
    return sent;
  }

  /** Waits up to {@link #CLOSE_TIMEOUT} for records that are being sent; the rest fail. */
  @Override
  public void close() {
    producer.close(CLOSE_TIMEOUT);
  }
}
