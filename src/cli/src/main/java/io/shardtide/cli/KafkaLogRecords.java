package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static java.util.stream.Collectors.joining;

import io.shardtide.client.Endpoint;
import io.shardtide.cost.ModelBundle;
import io.shardtide.log.ClusterUnavailableException;
import io.shardtide.log.MissingTopicException;
import io.shardtide.log.OffsetRange;
import io.shardtide.log.RecordHandler;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.replay.LogRecords;
import io.shardtide.replay.MalformedRecordException;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.Workload;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The records on a cluster, up to the topics' ends when this was opened: later records are not
 * read, and every plan finds the records that it was made from. Reads committed records, one
 * partition after another; of one workload, those on its partition.
 */
final class KafkaLogRecords implements LogRecords, AutoCloseable {
  /** How long the cluster may be silent, unless the settings differ. */
  private static final int TIMEOUT_MS = 30_000;

  /** How long a fetch may wait at the end of a partition. */
  private static final int MAX_WAIT_MS = 10;

  private final Endpoint endpoint;
  private final Optional<String> workload;
  private final Registry registry;
  private final TopicReader reader;

  /** By topic, the range of each partition. */
  private final Map<String, Map<TopicPartition, OffsetRange>> ranges = new LinkedHashMap<>();

  private final Map<String, Long> undecodable = new TreeMap<>();

  /** What {@link #rejected} found; empty until it is asked. */
  private Optional<Map<SourcePosition, RejectionReason>> rejected = Optional.empty();

  /** Topics of optional parts that the user may not read. */
  private final List<String> denied = new ArrayList<>();

  /** A log of which nothing is read but {@link #readNow}. */
  KafkaLogRecords(Endpoint endpoint) {
    this(endpoint, Optional.empty(), () -> {});
  }

  private KafkaLogRecords(Endpoint endpoint, Optional<String> workload, Runnable progress) {
    this.endpoint = endpoint;
    this.workload = workload;
    registry = Registry.connect(endpoint.registryUrl(), endpoint.registry());
    // The broker holds a prefetch at the end of each partition for this long, 500 ms by default.
    Map<String, Object> defaults =
        Map.of(
            ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
            TIMEOUT_MS,
            ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG,
            MAX_WAIT_MS);
    reader =
        new TopicReader(endpoint.clients(defaults, Map.of()), registry)
            .afterEachRecord(progress)
            .onClose(registry::close);
  }

  /**
   * Opens the log of a cluster.
   *
   * @param workload whose records are read, besides all of pools; empty for all
   * @param progress runs after each record
   * @throws IOException if the cluster does not answer, or a topic is missing that is not of an
   *     optional part
   */
  static KafkaLogRecords open(Endpoint endpoint, Optional<String> workload, Runnable progress)
      throws IOException {
    KafkaLogRecords records = new KafkaLogRecords(endpoint, workload, progress);
    try {
      for (TopicType<?> kind : LogRecords.NAMES.keySet()) {
        records.find(kind, kind.extension().isPresent());
      }
      records.find(COST_MODELS, false);
      records.find(REJECTED_EVENTS, true);
      workload.ifPresent(records::keepPartitionOf);
      return records;
    } catch (IOException | RuntimeException e) {
      records.close();
      throw e;
    }
  }

  /**
   * Finds a topic.
   *
   * @param isOptional whether a cluster without an optional part of the planner does not have it
   */
  private void find(TopicType<?> type, boolean isOptional) throws IOException {
    Topic<?> topic = topics().of(type);
    try {
      Map<TopicPartition, OffsetRange> found = reader.ranges(topic);
      if (!isOptional || found.values().stream().anyMatch(range -> range.size() > 0)) {
        ranges.put(topic.name(), found);
      }
    } catch (AuthorizationException | MissingTopicException e) {
      if (!isOptional) {
        throw failed(topic, e);
      }
      if (e instanceof AuthorizationException) {
        denied.add(topic.name());
      }
    } catch (ClusterUnavailableException | KafkaException e) {
      throw failed(topic, e);
    }
  }

  private static IOException failed(Topic<?> topic, RuntimeException e) {
    return new IOException(
        e instanceof KafkaException
            ? "Topic %s cannot be read: %s".formatted(topic.name(), e.getMessage())
            : e.getMessage(),
        e);
  }

  /** Where a topic was given more partitions, its records are on any: then all are read. */
  private void keepPartitionOf(String key) {
    List<Map<TopicPartition, OffsetRange>> own =
        LogRecords.NAMES.keySet().stream()
            .filter(kind -> !LogRecords.isOfPools(kind) && has(kind))
            .map(kind -> ranges.get(topics().of(kind).name()))
            .toList();
    int partitions = own.get(0).size();
    if (own.stream().allMatch(of -> of.size() == partitions)) {
      int kept = RecordDecoder.partition(key.getBytes(StandardCharsets.UTF_8), partitions);
      own.forEach(of -> of.keySet().removeIf(partition -> partition.partition() != kept));
    }
  }

  Topics topics() {
    return endpoint.topics();
  }

  /** Returns about how many records there are, those of other workloads included. */
  long size() {
    return ranges.values().stream()
        .flatMap(of -> of.values().stream())
        .mapToLong(OffsetRange::size)
        .sum();
  }

  /** Returns what a person should know of the log, in words. */
  List<String> notes() {
    List<String> notes = new ArrayList<>();
    for (Map<TopicPartition, OffsetRange> of : ranges.values()) {
      of.forEach(
          (partition, range) -> {
            if (range.begin() > 0) {
              notes.add(
                  "%s begins at offset %,d: the cluster deleted the records before it"
                      .formatted(partition, range.begin()));
            }
          });
    }
    denied.forEach(
        topic ->
            notes.add(
                "%s: this user may not read it, and what it holds is left out".formatted(topic)));
    undecodable.forEach(
        (topic, count) ->
            notes.add(
                "%s: %,d records that cannot be decoded, or were rejected for their partition, are left out, as the planner did"
                    .formatted(topic, count)));
    return notes;
  }

  @Override
  public boolean has(TopicType<?> part) {
    return ranges.containsKey(topics().of(part).name());
  }

  @Override
  public <V> void read(TopicType<V> part, Consumer<? super V> each) throws IOException {
    read(
        topics().of(part),
        LogRecords.isOfPools(part) ? Optional.empty() : workload,
        (value, writtenAt) -> each.accept(value));
  }

  @Override
  public Map<String, ModelBundle> models() throws IOException {
    Map<String, ModelBundle> models = new LinkedHashMap<>();
    read(
        topics().of(COST_MODELS),
        Optional.empty(),
        (bundle, writtenAt) -> {
          models.remove(bundle.modelId());
          models.put(bundle.modelId(), bundle);
        });
    return models;
  }

  /**
   * Reads a topic that no replay needs, up to where it ends now.
   *
   * @param each receives values, and when they were written
   * @throws IOException if the cluster does not answer, or the topic is missing
   */
  <V> void readNow(TopicType<V> type, BiConsumer<V, Instant> each) throws IOException {
    find(type, false);
    read(topics().of(type), Optional.empty(), each);
  }

  private <V> void read(Topic<V> topic, Optional<String> key, BiConsumer<V, Instant> each)
      throws IOException {
    Map<SourcePosition, RejectionReason> rejections = rejected();
    undecodable.remove(topic.name());
    RecordHandler<V> handler =
        (position, writtenAt, value) -> {
          if (rejections.get(position) == RejectionReason.WRONG_PARTITION) {
            undecodable.merge(topic.name(), 1L, Long::sum);
            return;
          }
          try {
            each.accept(value, writtenAt);
          } catch (IllegalArgumentException e) {
            throw new MalformedRecordException(position.toString(), e);
          }
        };
    read(topic, key, handler);
  }

  /** Returns the workloads that exist, as the events make them that no planner rejected. */
  SortedMap<String, Workload> workloads() throws IOException {
    Map<SourcePosition, RejectionReason> rejections = rejected();
    SortedMap<String, Workload> workloads = new TreeMap<>();
    RecordHandler<WorkloadChange> handler =
        (position, writtenAt, event) -> {
          if (!rejections.containsKey(position)) {
            String id = event.workloadId();
            workloads.put(id, applied(workloads.getOrDefault(id, Workload.empty(id)), event));
          }
        };
    read(topics().of(WORKLOAD_CHANGES), workload, handler);
    workloads.values().removeIf(one -> !one.exists());
    return workloads;
  }

  /** The planner may not have come to an event that it will reject. */
  private static Workload applied(Workload before, WorkloadChange event) {
    try {
      return before.apply(event);
    } catch (RejectedException e) {
      return before;
    }
  }

  /**
   * Returns the records that planners rejected. The log says which were so for their partition,
   * because topics may have had fewer partitions when a record was written, and earlier versions
   * applied it.
   */
  private Map<SourcePosition, RejectionReason> rejected() throws IOException {
    if (rejected.isEmpty()) {
      Map<SourcePosition, RejectionReason> found = new HashMap<>();
      read(
          topics().of(REJECTED_EVENTS),
          Optional.empty(),
          (position, writtenAt, rejection) -> found.put(rejection.source(), rejection.reason()));
      rejected = Optional.of(found);
    }
    return rejected.get();
  }

  private <V> void read(Topic<V> topic, Optional<String> key, RecordHandler<V> handler)
      throws IOException {
    reader
        .onlyKey(key)
        .handle(topic, StartPosition.BEGINNING, handler)
        .onUndecodable(record -> undecodable.merge(topic.name(), 1L, Long::sum));
    try {
      ranges.getOrDefault(topic.name(), Map.of()).forEach(reader::readRange);
    } catch (ClusterUnavailableException | RegistryUnavailableException | KafkaException e) {
      throw failed(topic, e);
    }
  }

  /** Returns a record to {@link #write}. */
  <V> ProducerRecord<String, byte[]> record(TopicType<V> type, V value) throws IOException {
    Topic<V> topic = topics().of(type);
    try {
      byte[] bytes = registry.serde(topic).serializer().serialize(topic.name(), value);
      return new ProducerRecord<>(topic.name(), type.keyOf(value), bytes);
    } catch (RegistryUnavailableException e) {
      throw failed(topic, e);
    }
  }

  /**
   * Writes records in one transaction; returns when it is committed.
   *
   * @param writer part of the transactional id: of two writers at the same time, the first fails
   * @throws IOException if the cluster does not take the records; none is written
   */
  @SuppressWarnings("FutureReturnValueIgnored") // The commit throws the error of any record.
  void write(String writer, List<ProducerRecord<String, byte[]>> records) throws IOException {
    Map<String, Object> config =
        endpoint.clients(
            Map.of(), Map.of(ProducerConfig.TRANSACTIONAL_ID_CONFIG, endpoint.prefix() + writer));
    try (KafkaProducer<String, byte[]> producer =
        new KafkaProducer<>(config, new StringSerializer(), new ByteArraySerializer())) {
      producer.initTransactions();
      producer.beginTransaction();
      records.forEach(producer::send);
      producer.commitTransaction();
    } catch (KafkaException e) {
      throw new IOException(
          "%s cannot be written: %s"
              .formatted(
                  records.stream().map(ProducerRecord::topic).collect(joining(" and ")),
                  e.getMessage()),
          e);
    }
  }

  @Override
  public void close() {
    reader.close();
  }
}
