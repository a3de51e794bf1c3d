package io.shardtide.views;

import io.shardtide.client.Endpoint;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.SourcePosition;
import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/** Reads single plans from the log, one at a time. */
final class PlanReader implements AutoCloseable {
  /** Plans that are kept: a plan of 612 tables on 128 devices takes a few hundred kilobytes. */
  private static final int KEPT = 64;

  private static final Duration POLL = Duration.ofMillis(100);
  private static final long PATIENCE_NANOS = 5_000_000_000L;

  private final Registry registry;
  private final KafkaConsumer<byte[], byte[]> consumer;
  private final Map<String, ShardingPlan> kept =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, ShardingPlan> eldest) {
          return size() > KEPT;
        }
      };

  PlanReader(Endpoint endpoint, Registry registry) {
    this.registry = registry;
    consumer =
        endpoint.reader(
            Map.of(
                ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
                "none",
                ConsumerConfig.MAX_POLL_RECORDS_CONFIG,
                1));
  }

  /**
   * Returns a plan.
   *
   * @param planId its id
   * @param at where it lies
   * @param topic the topic that this is in
   * @throws IOException if it is not there any more, or the cluster does not answer
   */
  synchronized ShardingPlan read(String planId, SourcePosition at, Topic<ShardingPlan> topic)
      throws IOException {
    ShardingPlan known = kept.get(planId);
    if (known != null) {
      return known;
    }
    TopicPartition partition = new TopicPartition(at.topic(), at.partition());
    try {
      consumer.assign(List.of(partition));
      consumer.seek(partition, at.offset());
      long start = System.nanoTime();
      while (System.nanoTime() - start < PATIENCE_NANOS) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
          if (record.offset() == at.offset()
              && decoder(topic).decode(at, record.key(), record.value())
                  instanceof Decoded.Value<ShardingPlan> value
              && value.value().planId().equals(planId)) {
            kept.put(planId, value.value());
            return value.value();
          }
          throw new IOException("Plan %s is at %s no more".formatted(planId, at));
        }
      }
    } catch (KafkaException e) {
      throw new IOException("Plan %s cannot be read: %s".formatted(planId, e.getMessage()), e);
    } finally {
      consumer.unsubscribe();
    }
    throw new IOException("The cluster does not answer for plan %s".formatted(planId));
  }

  private RecordDecoder<ShardingPlan> decoder(Topic<ShardingPlan> topic) {
    return new RecordDecoder<>(registry, topic, ShardingPlan::workloadId);
  }

  @Override
  public synchronized void close() {
    consumer.close();
  }
}
