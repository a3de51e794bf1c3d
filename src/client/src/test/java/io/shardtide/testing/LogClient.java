package io.shardtide.testing;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.awaitility.Awaitility.await;

import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.apache.avro.Schema;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.awaitility.Awaitility;

/**
 * A client of a real cluster and a real registry: publishes changes and reads topics from their
 * beginning.
 */
public final class LogClient implements AutoCloseable {
  static {
    // A stream thread that is replaced throws what ended it, while a test waits for the next one.
    Awaitility.doNotCatchUncaughtExceptionsByDefault();
  }

  private static final Duration PATIENCE = Duration.ofMinutes(3);

  private final Map<String, Object> clients;
  private final String prefix;
  private final Topics topics;
  private final Registry registry;
  private final KafkaProducer<String, byte[]> producer;
  private final Map<String, FollowedTopic<?>> followed = new HashMap<>();

  public LogClient(String bootstrapServers, String registryUrl, String prefix) {
    this(
        Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers),
        registryUrl,
        prefix);
  }

  /** A client with settings of its own, such as a user's. */
  public LogClient(Map<String, ?> clients, String registryUrl, String prefix) {
    this.clients = Map.copyOf(clients);
    this.prefix = prefix;
    topics = Topics.withPrefix(prefix);
    registry = Registry.connect(registryUrl, Map.of());
    producer =
        new KafkaProducer<>(
            with(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, TopicType.LARGE_RECORD_BYTES),
            new StringSerializer(),
            new ByteArraySerializer());
  }

  private Map<String, Object> with(String setting, Object value) {
    Map<String, Object> all = new HashMap<>(clients);
    all.put(setting, value);
    return all;
  }

  public Topics topics() {
    return topics;
  }

  public Registry registry() {
    return registry;
  }

  public void publish(WorkloadChange event) throws InterruptedException, ExecutionException {
    String topic = topics.of(WORKLOAD_CHANGES).name();
    publish(
        event.workloadId(),
        registry.serde(topics.of(WORKLOAD_CHANGES)).serializer().serialize(topic, event));
  }

  /** Publishes an event with another time than now in the record. */
  public void publishAt(Instant time, WorkloadChange event)
      throws InterruptedException, ExecutionException {
    String topic = topics.of(WORKLOAD_CHANGES).name();
    byte[] value = registry.serde(topics.of(WORKLOAD_CHANGES)).serializer().serialize(topic, event);
    producer
        .send(new ProducerRecord<>(topic, null, time.toEpochMilli(), event.workloadId(), value))
        .get();
  }

  /**
   * Returns an event as a publisher with a schema of its own writes it: the same fields, under an
   * id that no planner has seen.
   */
  public byte[] withForeignSchema(WorkloadChange event) throws IOException {
    return withForeignSchema(event, "another program");
  }

  /** The same; each name of a publisher gives another id. */
  public byte[] withForeignSchema(WorkloadChange event, String publisher) throws IOException {
    String subject = topics.of(WORKLOAD_CHANGES).name() + "-value";
    try (CachedSchemaRegistryClient client = new CachedSchemaRegistryClient(registry.url(), 10)) {
      Schema own = io.shardtide.avro.WorkloadChange.getClassSchema();
      Schema foreign = new Schema.Parser().parse(own.toString());
      foreign.addProp("publisher", publisher);
      int id = client.register(subject, new AvroSchema(foreign));
      byte[] value =
          registry
              .serde(topics.of(WORKLOAD_CHANGES))
              .serializer()
              .serialize(topics.of(WORKLOAD_CHANGES).name(), event);
      ByteBuffer.wrap(value).putInt(1, id);
      return value;
    } catch (RestClientException e) {
      throw new IOException(e);
    }
  }

  /** Registers the schema of another program, a record with a string; returns its id. */
  public static int registerForeignSchema(String registryUrl, String subject) throws IOException {
    try (CachedSchemaRegistryClient client = new CachedSchemaRegistryClient(registryUrl, 10)) {
      return client.register(
          subject,
          new AvroSchema(
              """
              {"type": "record", "name": "Greeting", "fields": [{"name": "text", "type": "string"}]}
              """));
    } catch (RestClientException e) {
      throw new IOException(e);
    }
  }

  public void publish(String key, byte[] value) throws InterruptedException, ExecutionException {
    publish(topics.of(WORKLOAD_CHANGES), key, value);
  }

  /** Publishes bytes on a topic, whatever they are. */
  public void publish(Topic<?> topic, String key, byte[] value)
      throws InterruptedException, ExecutionException {
    producer.send(new ProducerRecord<>(topic.name(), key, value)).get();
  }

  /** Publishes a value on a topic. */
  public <V> void publishValue(Topic<V> topic, String key, V value)
      throws InterruptedException, ExecutionException {
    publish(topic, key, registry.serde(topic).serializer().serialize(topic.name(), value));
  }

  public List<ShardingPlan> plans(int count) {
    return read(topics.of(SHARDING_PLANS), count);
  }

  public List<InfeasibleWorkload> infeasible(int count) {
    return read(topics.of(INFEASIBLE_WORKLOADS), count);
  }

  public List<RejectedEvent> rejected(int count) {
    return read(topics.of(REJECTED_EVENTS), count);
  }

  /** Returns the values that are committed on a topic. */
  public <V> List<V> committed(Topic<V> topic) {
    return followed(topic).toEnd();
  }

  /** Returns a workload's committed plans. */
  public List<ShardingPlan> plansOf(String workload) {
    return committed(topics.of(SHARDING_PLANS)).stream()
        .filter(plan -> plan.workloadId().equals(workload))
        .toList();
  }

  /** Returns a workload's committed statuses of plans. */
  public List<PlanStatus> statusesOf(String workload) {
    return committed(topics.of(PLAN_STATUS)).stream()
        .filter(status -> status.workloadId().equals(workload))
        .toList();
  }

  /**
   * Returns a topic's first records. Waits until there are {@code count}, then returns all that are
   * committed: more than expected are seen as well.
   */
  public <V> List<V> read(Topic<V> topic, int count) {
    return followed(topic).await(count);
  }

  @SuppressWarnings("unchecked") // The values are those of the topic with the name.
  private synchronized <V> FollowedTopic<V> followed(Topic<V> topic) {
    return (FollowedTopic<V>)
        followed.computeIfAbsent(topic.name(), name -> new FollowedTopic<>(topic));
  }

  /** The records of a topic that were read so far; the next read continues after them. */
  private final class FollowedTopic<V> implements AutoCloseable {
    private final List<V> values = new ArrayList<>();
    private final TopicReader reader;

    FollowedTopic(Topic<V> topic) {
      reader =
          new TopicReader(clients, registry)
              .handle(
                  anyKey(topic),
                  StartPosition.BEGINNING,
                  (position, writtenAt, value) -> values.add(value))
              .onUndecodable(
                  record -> {
                    throw new IllegalStateException(record.source() + ": " + record.message());
                  });
      reader.open();
    }

    /** Tests also write values under keys of others. */
    private static <V> Topic<V> anyKey(Topic<V> topic) {
      TopicType<V> type = topic.type();
      return new Topic<>(
          topic.name(),
          new TopicType<>(
              type.name(),
              type.codec(),
              Optional.empty(),
              type.retention(),
              type.maxMessageBytes(),
              type.leastMessageBytes(),
              type.extension()),
          topic.maxMessageBytes());
    }

    synchronized List<V> await(int count) {
      long end = System.nanoTime() + PATIENCE.toNanos();
      while (toEnd().size() < count && System.nanoTime() < end) {
        LockSupport.parkNanos(5_000_000);
      }
      return toEnd();
    }

    synchronized List<V> toEnd() {
      reader.readToEnd();
      return new ArrayList<>(values);
    }

    @Override
    public void close() {
      reader.close();
    }
  }

  /** Waits until a planner has read and committed all changes and all predictions. */
  public void awaitIdle() {
    awaitRead(prefix + "workload", topics.of(WORKLOAD_CHANGES));
    awaitRead(prefix + "planning", topics.of(COST_PREDICTIONS));
  }

  /** Returns how many records of a topic are in transactions that were aborted. */
  public int aborted(Topic<?> topic) {
    // A reader sees committed records only.
    int all = 0;
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(
            with(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_uncommitted"),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic.name()).stream()
              .map(info -> new TopicPartition(info.topic(), info.partition()))
              .toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (ends.keySet().stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
        all += consumer.poll(Duration.ofMillis(100)).count();
      }
    }
    return all - committed(topic).size();
  }

  /** Waits until a group has read a topic to its end, and has committed that. */
  public void awaitRead(String group, Topic<?> topic) {
    try (Admin admin = Admin.create(clients);
        TopicReader reader = new TopicReader(clients, registry)) {
      await()
          .atMost(PATIENCE)
          .until(
              () -> {
                Map<TopicPartition, OffsetAndMetadata> read =
                    admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
                // The last offset may be the mark of a transaction's end, which is no record.
                return reader.ranges(topic).entrySet().stream()
                    .allMatch(
                        range ->
                            range.getValue().end() == 0
                                || (read.get(range.getKey()) != null
                                    && read.get(range.getKey()).offset()
                                        >= range.getValue().end() - 1));
              });
    }
  }

  @Override
  public synchronized void close() throws IOException {
    followed.values().forEach(FollowedTopic::close);
    producer.close();
    registry.close();
  }
}
