package io.shardtide.cli;

import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Publishes changes and hears what becomes of them, as any client of the log would. */
final class DemoClient implements AutoCloseable {
  private static final byte[] MALFORMED = "not an event".getBytes(StandardCharsets.UTF_8);

  private final Topics topics;
  private final Serializer<WorkloadChange> serializer;
  private final KafkaProducer<String, byte[]> producer;
  private final KafkaConsumer<String, byte[]> consumer;
  private final Map<String, Deserializer<?>> deserializers = new HashMap<>();
  private final BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
  private final Thread listener = new Thread(this::listen, "demo-listener");

  private DemoClient(
      Registry registry,
      Topics topics,
      KafkaProducer<String, byte[]> producer,
      KafkaConsumer<String, byte[]> consumer) {
    this.topics = topics;
    this.producer = producer;
    this.consumer = consumer;
    serializer = registry.serde(topics.workloadChanges()).serializer();
    for (Topic<?> topic :
        List.of(topics.shardingPlans(), topics.infeasibleWorkloads(), topics.rejectedEvents())) {
      deserializers.put(topic.name(), registry.serde(topic).deserializer());
    }
  }

  /** Connects, and hears everything from now on. */
  static DemoClient connect(String bootstrapServers, Registry registry, Topics topics) {
    KafkaProducer<String, byte[]> producer =
        new KafkaProducer<>(
            Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG,
                bootstrapServers,
                ProducerConfig.ACKS_CONFIG,
                "all",
                ProducerConfig.LINGER_MS_CONFIG,
                0),
            new StringSerializer(),
            new ByteArraySerializer());
    KafkaConsumer<String, byte[]> consumer =
        new KafkaConsumer<>(
            Map.of(
                ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG,
                bootstrapServers,
                ConsumerConfig.ISOLATION_LEVEL_CONFIG,
                "read_committed",
                ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG,
                false),
            new StringDeserializer(),
            new ByteArrayDeserializer());
    DemoClient client = new DemoClient(registry, topics, producer, consumer);
    List<TopicPartition> partitions =
        client.deserializers.keySet().stream()
            .sorted()
            .flatMap(topic -> consumer.partitionsFor(topic).stream())
            .map(info -> new TopicPartition(info.topic(), info.partition()))
            .toList();
    consumer.assign(partitions);
    consumer.seekToEnd(partitions);
    partitions.forEach(consumer::position);
    client.listener.setDaemon(true);
    client.listener.start();
    return client;
  }

  /** Publishes an event, or bytes that are none, and returns when the cluster has it. */
  void publish(Optional<WorkloadChange> event) throws InterruptedException, ExecutionException {
    String topic = topics.workloadChanges().name();
    byte[] value = event.map(e -> serializer.serialize(topic, e)).orElse(MALFORMED);
    String key = event.map(WorkloadChange::workloadId).orElse(DemoScript.WORKLOAD);
    producer.send(new ProducerRecord<>(topic, key, value)).get();
  }

  /** Returns plans, infeasible workloads and rejected changes as they arrive. */
  BlockingQueue<Object> answers() {
    return answers;
  }

  private void listen() {
    try {
      while (true) {
        for (ConsumerRecord<String, byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
          Object heard =
              deserializers.get(record.topic()).deserialize(record.topic(), record.value());
          // What a trainer measured while its tables changed is rejected, too, and answers no
          // event.
          if (!(heard instanceof RejectedEvent rejected)
              || rejected.source().topic().equals(topics.workloadChanges().name())) {
            answers.add(heard);
          }
        }
      }
    } catch (WakeupException e) {
      consumer.close();
    }
  }

  @Override
  public void close() {
    producer.close();
    consumer.wakeup();
    try {
      listener.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
