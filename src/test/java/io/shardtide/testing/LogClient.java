package io.shardtide.testing;

import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.avro.Schema;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A client of a real cluster and a real registry: publishes changes and reads topics from their
 * beginning.
 */
public final class LogClient implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final String bootstrapServers;
  private final Topics topics;
  private final Registry registry;
  private final KafkaProducer<String, byte[]> producer;

  public LogClient(String bootstrapServers, String registryUrl, String prefix) {
    this.bootstrapServers = bootstrapServers;
    topics = Topics.withPrefix(prefix);
    registry = Registry.connect(registryUrl, Map.of());
    producer =
        new KafkaProducer<>(
            Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG,
                bootstrapServers,
                ProducerConfig.MAX_REQUEST_SIZE_CONFIG,
                Topics.LARGE_RECORD_BYTES),
            new StringSerializer(),
            new ByteArraySerializer());
  }

  public Topics topics() {
    return topics;
  }

  public Registry registry() {
    return registry;
  }

  public void publish(WorkloadChange event) throws InterruptedException, ExecutionException {
    String topic = topics.workloadChanges().name();
    publish(
        event.workloadId(),
        registry.serde(topics.workloadChanges()).serializer().serialize(topic, event));
  }

  /**
   * Returns an event as a publisher with a schema of its own writes it: the same fields, under an
   * id that no planner has seen.
   */
  public byte[] withForeignSchema(WorkloadChange event) throws IOException {
    String subject = topics.workloadChanges().name() + "-value";
    try (CachedSchemaRegistryClient client = new CachedSchemaRegistryClient(registry.url(), 10)) {
      Schema own = io.shardtide.avro.WorkloadChange.getClassSchema();
      Schema foreign = new Schema.Parser().parse(own.toString());
      foreign.addProp("publisher", "another program");
      int id = client.register(subject, new AvroSchema(foreign));
      byte[] value =
          registry
              .serde(topics.workloadChanges())
              .serializer()
              .serialize(topics.workloadChanges().name(), event);
      ByteBuffer.wrap(value).putInt(1, id);
      return value;
    } catch (RestClientException e) {
      throw new IOException(e);
    }
  }

  public void publish(String key, byte[] value) throws InterruptedException, ExecutionException {
    producer.send(new ProducerRecord<>(topics.workloadChanges().name(), key, value)).get();
  }

  /** Publishes a value to any topic. */
  public <V> void publish(Topic<V> topic, String key, V value)
      throws InterruptedException, ExecutionException {
    byte[] bytes = registry.serde(topic).serializer().serialize(topic.name(), value);
    producer.send(new ProducerRecord<>(topic.name(), key, bytes)).get();
  }

  public List<ShardingPlan> plans(int count) {
    return read(topics.shardingPlans(), count);
  }

  public List<InfeasibleWorkload> infeasible(int count) {
    return read(topics.infeasibleWorkloads(), count);
  }

  public List<RejectedEvent> rejected(int count) {
    return read(topics.rejectedEvents(), count);
  }

  /**
   * Returns a topic's first records; waits until there are as many, and a moment longer for more
   * than expected.
   */
  public <V> List<V> read(Topic<V> topic, int count) {
    List<V> values = new ArrayList<>();
    try (KafkaConsumer<String, V> consumer =
        new KafkaConsumer<>(
            Map.of(
                ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG,
                bootstrapServers,
                ConsumerConfig.ISOLATION_LEVEL_CONFIG,
                "read_committed"),
            new StringDeserializer(),
            registry.serde(topic).deserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic.name()).stream()
              .map(info -> new TopicPartition(info.topic(), info.partition()))
              .toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      long end = System.nanoTime() + PATIENCE.toNanos();
      while (values.size() < count && System.nanoTime() < end) {
        consumer.poll(Duration.ofMillis(100)).forEach(record -> values.add(record.value()));
      }
      consumer.poll(Duration.ofMillis(500)).forEach(record -> values.add(record.value()));
    }
    return values;
  }

  @Override
  public void close() throws IOException {
    producer.close();
    registry.close();
  }
}
