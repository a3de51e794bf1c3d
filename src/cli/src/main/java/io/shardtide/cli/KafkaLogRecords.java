package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.ModelBundle;
import io.shardtide.log.ClusterUnavailableException;
import io.shardtide.log.OffsetRange;
import io.shardtide.log.RecordHandler;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.replay.LogRecords;
import io.shardtide.replay.MalformedRecordException;
import io.shardtide.replay.RecordKind;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.Workload;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
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
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;

/**
 * The records on a cluster, up to the topics' ends when this was opened: later records are not
 * read, and every plan finds the records that it was made from. Reads committed records, one
 * partition after another.
 */
final class KafkaLogRecords implements LogRecords, AutoCloseable {
  /** How long the cluster may be silent, unless the settings differ. */
  private static final int TIMEOUT_MS = 30_000;

  /** How long a fetch may wait at the end of a partition. */
  private static final int MAX_WAIT_MS = 10;

  private final Topics topics;
  private final Optional<String> workload;
  private final TopicReader reader;

  /** By topic, the range of each partition. */
  private final Map<String, Map<TopicPartition, OffsetRange>> ranges = new LinkedHashMap<>();

  private final Map<String, Long> undecodable = new TreeMap<>();

  /** What {@link #rejected} found; empty until it is asked. */
  private Optional<Map<SourcePosition, RejectionReason>> rejected = Optional.empty();

  /** Topics of optional parts that the user may not read. */
  private final List<String> denied = new ArrayList<>();

  /**
   * @param clients settings of Kafka's clients, {@code bootstrap.servers} among them
   * @param registry looks schemas up; not closed with this
   * @param topics the topics
   * @param workload whose records are read, besides all of pools; empty for all
   * @param progress runs after each record
   * @throws IOException if the cluster does not answer, or a topic is missing that is not of an
   *     optional part
   */
  KafkaLogRecords(
      Map<String, Object> clients,
      Registry registry,
      Topics topics,
      Optional<String> workload,
      Runnable progress)
      throws IOException {
    this.topics = topics;
    this.workload = workload;
    Map<String, Object> settings = new HashMap<>(clients);
    settings.putIfAbsent(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, TIMEOUT_MS);
    // The broker holds a prefetch at the end of each partition for this long, 500 ms by default.
    settings.putIfAbsent(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, MAX_WAIT_MS);
    reader = new TopicReader(settings, registry).afterEachRecord(progress);
    try {
      for (RecordKind<?> kind : RecordKind.ALL) {
        if (kind.type().extension().isEmpty()) {
          find(topics.of(kind.type()));
        } else {
          findIfUsed(topics.of(kind.type()));
        }
      }
      find(topics.of(COST_MODELS));
      findIfUsed(topics.of(REJECTED_EVENTS));
    } catch (IOException | RuntimeException e) {
      reader.close();
      throw e;
    }
  }

  /** Finds a topic that a cluster without an optional part of the planner does not have. */
  private void findIfUsed(Topic<?> topic) throws IOException {
    try {
      Map<TopicPartition, OffsetRange> found = reader.ranges(topic);
      if (found.values().stream().anyMatch(range -> range.size() > 0)) {
        ranges.put(topic.name(), found);
      }
    } catch (AuthorizationException e) {
      denied.add(topic.name());
    } catch (ClusterUnavailableException e) {
      throw new IOException(e.getMessage(), e);
    } catch (IllegalStateException e) {
      // The cluster does not have it.
    } catch (KafkaException e) {
      throw new IOException(
          "Topic %s cannot be read: %s".formatted(topic.name(), e.getMessage()), e);
    }
  }

  private void find(Topic<?> topic) throws IOException {
    try {
      ranges.put(topic.name(), reader.ranges(topic));
    } catch (ClusterUnavailableException | IllegalStateException e) {
      throw new IOException(e.getMessage(), e);
    } catch (KafkaException e) {
      throw new IOException(
          "Topic %s cannot be read: %s".formatted(topic.name(), e.getMessage()), e);
    }
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
  public boolean has(RecordKind<?> part) {
    return ranges.containsKey(topics.of(part.type()).name());
  }

  @Override
  public <V> void read(RecordKind<V> part, Consumer<? super V> each) throws IOException {
    read(
        topics.of(part.type()),
        part.isOfPools() ? Optional.empty() : workload,
        (value, writtenAt) -> each.accept(value));
  }

  @Override
  public Map<String, ModelBundle> models() throws IOException {
    Map<String, ModelBundle> models = new LinkedHashMap<>();
    read(
        topics.of(COST_MODELS),
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
  <V> void readNow(Topic<V> topic, BiConsumer<V, Instant> each) throws IOException {
    find(topic);
    read(topic, Optional.empty(), each);
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
    read(topics.of(WORKLOAD_CHANGES), workload, handler);
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
          topics.of(REJECTED_EVENTS),
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
    } catch (ClusterUnavailableException | RegistryUnavailableException e) {
      throw new IOException(e.getMessage(), e);
    } catch (KafkaException e) {
      throw new IOException(
          "Topic %s cannot be read: %s".formatted(topic.name(), e.getMessage()), e);
    }
  }

  @Override
  public void close() {
    reader.close();
  }
}
