package io.shardtide.client;

import io.shardtide.domain.SourcePosition;
import io.shardtide.wire.Topic;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes records at once, each to all copies and no more than once. For use by several threads. */
final class RecordSender implements AutoCloseable {
  private final KafkaProducer<String, byte[]> producer;

  /**
   * @param endpoint where the log is
   * @param largest the largest record, in bytes, unless the user's settings say otherwise
   */
  RecordSender(Endpoint endpoint, int largest) {
    producer =
        new KafkaProducer<>(
            endpoint.clients(
                Map.of(
                    ProducerConfig.LINGER_MS_CONFIG,
                    0,
                    ProducerConfig.MAX_REQUEST_SIZE_CONFIG,
                    largest),
                Map.of(
                    ProducerConfig.ACKS_CONFIG,
                    "all",
                    ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG,
                    true)),
            new StringSerializer(),
            new ByteArraySerializer());
  }

  /** Sends; returns where the record lies, once the cluster has it on all its copies. */
  @SuppressWarnings("FutureReturnValueIgnored") // The callback hears of failures.
  <V> CompletableFuture<SourcePosition> send(
      Topic<V> topic, Serializer<V> serializer, String key, V value) {
    CompletableFuture<SourcePosition> done = new CompletableFuture<>();
    producer.send(
        new ProducerRecord<>(topic.name(), key, serializer.serialize(topic.name(), value)),
        (metadata, error) -> {
          if (error == null) {
            done.complete(
                new SourcePosition(metadata.topic(), metadata.partition(), metadata.offset()));
          } else {
            done.completeExceptionally(error);
          }
        });
    return done;
  }

  /** Sends what is on its way, and lets go of the cluster. */
  @Override
  public void close() {
    producer.close();
  }
}
