package io.shardtide.client;

import static java.util.Map.entry;

import io.shardtide.log.ClusterUnavailableException;
import io.shardtide.wire.Topic;
import io.shardtide.workload.SourcePosition;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
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
  private final ClusterRefusals refusals;
  private final KafkaProducer<String, byte[]> producer;
  private final Metric failedLogins;

  /**
   * @param endpoint the cluster
   * @param refusals explains its errors
   * @param maxRequestBytes the largest record in bytes, unless the endpoint's settings differ
   */
  RecordSender(Endpoint endpoint, ClusterRefusals refusals, int maxRequestBytes) {
    bootstrapServers = endpoint.bootstrapServers();
    this.refusals = refusals;
    producer =
        new KafkaProducer<>(
            endpoint.clients(
                Map.ofEntries(
                    entry(ProducerConfig.LINGER_MS_CONFIG, 0),
                    entry(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, maxRequestBytes)),
                Map.ofEntries(
                    entry(ProducerConfig.ACKS_CONFIG, "all"),
                    entry(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true),
                    entry(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, 1))),
            new StringSerializer(),
            new ByteArraySerializer());
    failedLogins =
        producer.metrics().values().stream()
            .filter(metric -> metric.metricName().name().equals("failed-authentication-total"))
            .findFirst()
            .orElseThrow();
  }

  /**
   * Sends a record. May block for {@code max.block.ms}: until the cluster has told where the topic
   * is, and while the producer's buffer is full.
   *
   * @return the record's position, when all in-sync replicas have it; or Kafka's error
   */
  @SuppressWarnings("FutureReturnValueIgnored") // The callback receives failures.
  <V> CompletableFuture<SourcePosition> send(Topic<V> topic, Serializer<V> serializer, V value) {
    CompletableFuture<SourcePosition> sent = new CompletableFuture<>();
    producer.send(
        new ProducerRecord<>(
            topic.name(), topic.type().keyOf(value), serializer.serialize(topic.name(), value)),
        (metadata, error) -> {
          if (error == null) {
            sent.complete(
                new SourcePosition(metadata.topic(), metadata.partition(), metadata.offset()));
          } else {
            sent.completeExceptionally(explain(error));
          }
        });
    return sent;
  }

  private Exception explain(Exception error) {
    if (error instanceof TimeoutException) {
      return new ClusterUnavailableException(bootstrapServers, error);
    }
    return error instanceof RuntimeException refused ? refusals.explain(refused, "Write") : error;
  }

  /**
   * Returns how often brokers did not accept this client; not those handshakes of TLS 1.3 in which
   * they refused its certificate.
   */
  double failedLogins() {
    return (Double) failedLogins.metricValue();
  }

  /** Waits up to {@link #CLOSE_TIMEOUT} for records that are being sent; the rest fail. */
  @Override
  public void close() {
    producer.close(CLOSE_TIMEOUT);
  }
}
