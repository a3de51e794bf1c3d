package io.shardtide.bench.service;

import io.shardtide.wire.Topic;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Reads committed records from the end of topics, on its own thread. */
final class PlanListenerThread implements AutoCloseable {
  private final KafkaConsumer<String, byte[]> consumer;
  private final Map<String, Deserializer<?>> values = new HashMap<>();
  private final PlanHandler handler;
  private final Thread thread = new Thread(this::listen, "bench-listener");
  private final AtomicReference<RuntimeException> failure = new AtomicReference<>();

  /** Receives records. */
  @FunctionalInterface
  interface PlanHandler {
    /**
     * Handles a record.
     *
     * @param value the record's value
     * @param nanos time at which it was read, by {@link System#nanoTime}
     */
    void handle(Object value, long nanos);
  }

  /** Connects and starts to read at the topics' ends. */
  PlanListenerThread(BenchmarkCluster cluster, List<Topic<?>> topics, PlanHandler handler) {
    this.handler = handler;
    consumer =
        new KafkaConsumer<>(
            Map.of(
                ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG,
                cluster.bootstrapServers(),
                ConsumerConfig.ISOLATION_LEVEL_CONFIG,
                "read_committed",
                ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG,
                false),
            new StringDeserializer(),
            new ByteArrayDeserializer());
    topics.forEach(
        topic -> values.put(topic.name(), cluster.registry().serde(topic).deserializer()));
    List<TopicPartition> partitions =
        topics.stream()
            .flatMap(topic -> consumer.partitionsFor(topic.name()).stream())
            .map(info -> new TopicPartition(info.topic(), info.partition()))
            .toList();
    consumer.assign(partitions);
    consumer.seekToEnd(partitions);
    partitions.forEach(consumer::position);
    thread.setDaemon(true);
    thread.start();
  }

  private void listen() {
    try {
      while (true) {
        ConsumerRecords<String, byte[]> records = consumer.poll(Duration.ofSeconds(1));
        long nanos = System.nanoTime();
        for (ConsumerRecord<String, byte[]> record : records) {
          handler.handle(
              values.get(record.topic()).deserialize(record.topic(), record.value()), nanos);
        }
      }
    } catch (WakeupException e) {
      consumer.close();
    } catch (RuntimeException e) {
      failure.set(e);
    }
  }

  /** Throws the exception that ended the thread, if any. */
  void check() {
    RuntimeException failed = failure.get();
    if (failed != null) {
      throw new IllegalStateException("Reading failed: " + failed.getMessage(), failed);
    }
  }

  @Override
  public void close() {
    consumer.wakeup();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
