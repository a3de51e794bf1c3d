package io.shardtide.testing;

import io.shardtide.topology.AclGrant;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Tries what a right is for, with a user's own clients, on a real cluster. */
public final class Allowed implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final Map<String, Object> clients;
  private final String readable;
  private final Admin admin;
  private final KafkaProducer<byte[], byte[]> producer;
  private final KafkaConsumer<byte[], byte[]> reader;

  /**
   * @param clients settings of the user's clients
   * @param readable a topic that the user may read, for offsets that a group commits
   */
  public Allowed(Map<String, Object> clients, String readable) {
    this.clients = clients;
    this.readable = readable;
    admin = Admin.create(clients);
    producer = producer(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, false);
    reader = consumer(clients);
  }

  private KafkaProducer<byte[], byte[]> producer(String setting, Object value) {
    return new KafkaProducer<>(
        with(setting, value), new ByteArraySerializer(), new ByteArraySerializer());
  }

  private Map<String, Object> with(String setting, Object value) {
    Map<String, Object> all = new HashMap<>(clients);
    all.put(setting, value);
    return all;
  }

  /** Returns whether the cluster lets the user do what a right is for. */
  public boolean is(AclGrant right) throws Exception {
    try {
      tryIt(right);
      return true;
    } catch (AuthorizationException e) {
      return false;
    } catch (ExecutionException e) {
      if (e.getCause() instanceof AuthorizationException) {
        return false;
      }
      if (e.getCause() instanceof UnknownTopicOrPartitionException) {
        // The broker checks ACLs first.
        return true;
      }
      throw e;
    }
  }

  private void tryIt(AclGrant right) throws Exception {
    switch (right.type() + " " + right.operation()) {
      case "TOPIC READ" -> read(right.name());
      case "TOPIC WRITE" -> producer.send(new ProducerRecord<>(right.name(), new byte[0])).get();
      case "TOPIC CREATE" ->
          admin
              .createTopics(
                  List.of(new NewTopic(right.name() + UUID.randomUUID(), 1, (short) 1)),
                  new CreateTopicsOptions().validateOnly(true))
              .all()
              .get();
      case "TOPIC DESCRIBE_CONFIGS" ->
          admin
              .describeConfigs(List.of(new ConfigResource(ConfigResource.Type.TOPIC, readable)))
              .all()
              .get();
      case "GROUP READ" -> commit(right.name() + "planning");
      case "GROUP DESCRIBE" ->
          admin.listConsumerGroupOffsets(right.name()).partitionsToOffsetAndMetadata().get();
      case "TRANSACTIONAL_ID WRITE" -> begin(right.name() + "planning-" + UUID.randomUUID());
      default -> throw new AssertionError("Nobody knows how to try " + right);
    }
  }

  /** Reads the topic's first record: describing it is not enough. */
  private void read(String topic) {
    TopicPartition partition = new TopicPartition(topic, 0);
    // One consumer for all: a TLS and SCRAM handshake each time takes most of the time.
    reader.assign(List.of());
    reader.assign(List.of(partition));
    reader.seekToBeginning(List.of(partition));
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (reader.poll(Duration.ofMillis(100)).isEmpty()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("No record on " + topic);
      }
    }
  }

  private void commit(String group) {
    TopicPartition partition = new TopicPartition(readable, 0);
    try (KafkaConsumer<byte[], byte[]> consumer =
        consumer(with(ConsumerConfig.GROUP_ID_CONFIG, group))) {
      consumer.assign(List.of(partition));
      consumer.commitSync(Map.of(partition, new OffsetAndMetadata(0)));
    }
  }

  private static KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> config) {
    return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  private void begin(String transactionalId) {
    try (KafkaProducer<byte[], byte[]> own =
        producer(ProducerConfig.TRANSACTIONAL_ID_CONFIG, transactionalId)) {
      own.initTransactions();
    }
  }

  @Override
  public void close() {
    admin.close();
    producer.close();
    reader.close();
  }
}
