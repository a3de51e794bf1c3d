package io.shardtide.log;

import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.Topic;
import io.shardtide.wire.UndecidedSchemaException;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.SourcePosition;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads all partitions of topics, committed records only, without a consumer group.
 *
 * <p>Use: name the topics with {@link #handle}, call {@link #open}, then {@link #start} to read on
 * a thread of the reader's own, or {@link #readToEnd}. {@link #readRange} needs no {@code open}.
 *
 * <p>A record that cannot be decoded is counted, reported by its position and skipped, some seconds
 * later if the registry gives other schemas but not that of the record. A record whose schema
 * cannot be looked up because the registry does not answer is read again: the reader's own thread
 * waits for the registry; a call on the caller's thread throws {@link
 * RegistryUnavailableException}, and the next call begins at that record. {@link #close} and {@link
 * #undecodableRecords} may be called from any thread.
 */
public final class TopicReader implements AutoCloseable {
  /** How long a call waits for a cluster that sends nothing, unless the settings differ. */
  private static final long DEFAULT_PATIENCE_MS = 30_000;

  private final String bootstrapServers;
  private final KafkaConsumer<byte[], byte[]> consumer;
  private final Registry registry;
  private final Duration patience;
  private final RecordDispatcher dispatcher = new RecordDispatcher();
  private final ReaderThread thread = new ReaderThread(this);

  /** Held by the thread that uses the consumer, which is not safe for several. */
  private final ReentrantLock reading = new ReentrantLock();

  private Map<TopicPartition, Long> ends = Map.of();
  private long receivedNanos;
  private volatile boolean closed;
  private Runnable onClose = () -> {};

  /**
   * Creates the consumer; connects nowhere yet.
   *
   * @param kafka settings of Kafka's consumer, {@code bootstrap.servers} among them
   * @param registry looks schemas up; not closed with this reader
   */
  public TopicReader(Map<String, ?> kafka, Registry registry) {
    this.registry = registry;
    bootstrapServers = String.valueOf(kafka.get(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG));
    Map<String, Object> config = new HashMap<>(kafka);
    config.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    config.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    config.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    // Where retention deleted the next record before it was read: the oldest that is left.
    config.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    consumer =
        new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    patience =
        Duration.ofMillis(
            Long.parseLong(
                String.valueOf(
                    config.getOrDefault(
                        ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, DEFAULT_PATIENCE_MS))));
  }

  /** Reads only the partitions of this key, in UTF-8, and hands on its records; empty for all. */
  public TopicReader onlyKey(Optional<String> key) {
    dispatcher.key = key.map(text -> text.getBytes(StandardCharsets.UTF_8));
    return this;
  }

  /**
   * Reads a topic.
   *
   * @param start its first record
   * @param handler receives the values
   */
  public <V> TopicReader handle(Topic<V> topic, StartPosition start, RecordHandler<V> handler) {
    dispatcher.subscriptions.put(
        topic.name(),
        new RecordDispatcher.Subscription<>(
            topic, start, new RecordDecoder<>(registry, topic), handler));
    return this;
  }

  /**
   * Reads the latest value of each key of a compacted topic.
   *
   * @return the values by key, as far as they are read
   */
  public <V> SortedMap<String, V> latest(Topic<V> topic) {
    SortedMap<String, V> latest = new TreeMap<>();
    handle(
        topic,
        StartPosition.BEGINNING,
        (position, writtenAt, value) -> latest.put(topic.type().keyOf(value), value));
    onTombstone(topic, (position, key) -> latest.remove(key));
    return latest;
  }

  /**
   * Receives the tombstones of a topic, records without a value, with their keys. Without a handler
   * a tombstone is a record that cannot be decoded. Call after {@link #handle}.
   */
  public TopicReader onTombstone(Topic<?> topic, BiConsumer<SourcePosition, String> handler) {
    dispatcher.subscriptions.get(topic.name()).tombstones = Optional.of(handler);
    return this;
  }

  /**
   * Hands on, of the records of a topic that {@link #open} found, the latest of each key: the
   * reader's thread notes where they lie, and reads them again. Earlier ones are those that are not
   * compacted yet. Tombstones are handed on at once.
   */
  public TopicReader latestOnlyAtStart(Topic<?> topic) {
    dispatcher.subscriptions.get(topic.name()).latest = Optional.of(new HashMap<>());
    return this;
  }

  /**
   * Skips records of a topic by their headers, without decoding them. Call after {@link #handle}.
   */
  public TopicReader skip(Topic<?> topic, Predicate<Headers> records) {
    dispatcher.subscriptions.get(topic.name()).skipped = records;
    return this;
  }

  /** Receives records that cannot be decoded; by default they are logged. */
  public TopicReader onUndecodable(Consumer<RejectedEvent> handler) {
    dispatcher.undecodable = handler;
    return this;
  }

  /** Called after each record that was read, also after one with another key. */
  public TopicReader afterEachRecord(Runnable task) {
    dispatcher.afterRecord = task;
    return this;
  }

  /** Called once, on the reader's thread, when the records that {@link #open} found are read. */
  public TopicReader onCaughtUp(Runnable task) {
    thread.caughtUp = task;
    return this;
  }

  /**
   * Called when the reader's thread begins to wait, because the registry does not answer or the
   * brokers do not accept the client; otherwise it is logged.
   */
  public TopicReader onWaiting(Consumer<RuntimeException> handler) {
    thread.waiting = handler;
    return this;
  }

  /** Called with the error that ended the reader's thread; {@link #close} is none. */
  public TopicReader onFailure(Consumer<RuntimeException> handler) {
    thread.failed = handler;
    return this;
  }

  /** Runs a task when the reader is closed, after all others. */
  public TopicReader onClose(Runnable task) {
    onClose = task;
    return this;
  }

  /** Runs a task on the reader's thread, between records, about once in each interval. */
  public TopicReader every(Duration interval, Runnable task) {
    thread.every(interval, task);
    return this;
  }

  /**
   * Finds the partitions of the topics and moves to their start positions. Records that are written
   * after this returned are read. Closes the reader if it fails.
   *
   * @return end of each partition: the offset after its last committed record
   * @throws MissingTopicException if the cluster does not have one of the topics
   * @throws ClusterUnavailableException if the cluster does not answer
   */
  public Map<TopicPartition, Long> open() {
    try {
      return locked(this::assignAll);
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private Map<TopicPartition, Long> assignAll() {
    List<TopicPartition> partitions = new ArrayList<>();
    dispatcher.subscriptions.forEach(
        (name, subscription) -> {
          List<TopicPartition> found = partitionsOf(subscription.topic);
          subscription.partitions = OptionalInt.of(found.size());
          partitions.addAll(dispatcher.withKey(found));
        });
    consumer.assign(partitions);
    Map<TopicPartition, Long> begins = consumer.beginningOffsets(partitions);
    ends = consumer.endOffsets(partitions);
    // Now, not at the first poll: what is written from here on is after the end.
    ends.forEach(
        (partition, end) ->
            consumer.seek(
                partition,
                dispatcher
                    .subscriptions
                    .get(partition.topic())
                    .start
                    .offset(begins.get(partition), end)));
    return ends;
  }

  private List<TopicPartition> partitionsOf(Topic<?> topic) {
    List<PartitionInfo> found = consumer.partitionsFor(topic.name());
    if (found.isEmpty()) {
      throw new MissingTopicException(topic, bootstrapServers);
    }
    return found.stream()
        .map(info -> new TopicPartition(info.topic(), info.partition()))
        .sorted(Comparator.comparingInt(TopicPartition::partition))
        .toList();
  }

  /**
   * Returns the offsets that a topic's partitions have now. The reader's positions are lost.
   *
   * @return for each partition, in their order, the first offset and the one after the last
   *     committed record
   * @throws MissingTopicException if the cluster does not have the topic
   * @throws ClusterUnavailableException if the cluster does not answer
   */
  public Map<TopicPartition, OffsetRange> ranges(Topic<?> topic) {
    return locked(
        () -> {
          List<TopicPartition> partitions = partitionsOf(topic);
          // The client looks up committed ends only for assigned partitions.
          consumer.assign(partitions);
          Map<TopicPartition, Long> begins = consumer.beginningOffsets(partitions);
          Map<TopicPartition, Long> currentEnds = consumer.endOffsets(partitions);
          Map<TopicPartition, OffsetRange> ranges = new LinkedHashMap<>();
          partitions.forEach(
              p -> ranges.put(p, new OffsetRange(begins.get(p), currentEnds.get(p))));
          return ranges;
        });
  }

  /**
   * Reads, on the caller's thread, the records of a partition within a range. The reader's other
   * positions are lost.
   *
   * @throws ClusterUnavailableException if the cluster sends nothing for the consumer's {@code
   *     default.api.timeout.ms}, 30 s if it is not set
   * @throws RegistryUnavailableException if the registry does not answer
   */
  public void readRange(TopicPartition partition, OffsetRange range) {
    locked(
        () -> {
          consumer.assign(List.of(partition));
          consumer.seek(partition, range.begin());
          Map<TopicPartition, Long> end = Map.of(partition, range.end());
          readTo(end, end);
        });
  }

  /**
   * Reads, on the caller's thread, from where it stopped before up to the current ends of the
   * partitions.
   *
   * @throws RuntimeException as {@link #readRange}
   */
  public void readToEnd() {
    locked(() -> readTo(consumer.endOffsets(consumer.assignment()), Map.of()));
  }

  private void readTo(Map<TopicPartition, Long> stop, Map<TopicPartition, Long> limits) {
    while (!isPast(stop)) {
      Map<TopicPartition, Long> before = positions();
      if (!poll(patience, limits) && positions().equals(before)) {
        throw new TimeoutException("no records for %d ms".formatted(patience.toMillis()));
      }
    }
  }

  private Map<TopicPartition, Long> positions() {
    return consumer.assignment().stream().collect(Collectors.toMap(p -> p, consumer::position));
  }

  /**
   * Hands on the next records, of a partition with a limit only those before it; returns whether
   * there were any within the time.
   */
  boolean poll(Duration timeout, Map<TopicPartition, Long> limits) {
    ConsumerRecords<byte[], byte[]> records = consumer.poll(timeout);
    receivedNanos = System.nanoTime();
    Map<TopicPartition, Long> left = new HashMap<>();
    records.partitions().forEach(p -> left.put(p, records.records(p).get(0).offset()));
    try {
      for (TopicPartition partition : records.partitions()) {
        long limit = limits.getOrDefault(partition, Long.MAX_VALUE);
        for (ConsumerRecord<byte[], byte[]> record : records.records(partition)) {
          left.put(partition, record.offset());
          if (record.offset() < limit) {
            dispatcher.dispatch(record);
          }
        }
        left.remove(partition);
      }
    } catch (RegistryUnavailableException e) {
      // The next poll returns what was not handed on.
      left.forEach(consumer::seek);
      if (!(e instanceof UndecidedSchemaException)) {
        throw e;
      }
      LockSupport.parkNanos(200_000_000);
    }
    return !records.isEmpty();
  }

  /** Returns how many records could not be decoded and were skipped. */
  public long undecodableRecords() {
    return dispatcher.undecodableRecords();
  }

  /** Returns when the records being handed on were received, by {@link System#nanoTime}. */
  public long receivedNanos() {
    return receivedNanos;
  }

  /** Returns whether all records before some offsets were read. From the reading thread only. */
  public boolean isPast(Map<TopicPartition, Long> offsets) {
    return offsets.entrySet().stream().allMatch(e -> consumer.position(e.getKey()) >= e.getValue());
  }

  /**
   * Returns whether the records that {@link #open} found were read, some of them a second time;
   * begins that.
   */
  boolean catchUp() {
    if (!isPast(ends)) {
      return false;
    }
    Map<TopicPartition, Long> again = dispatcher.readAgain(consumer::position);
    ends = again.keySet().stream().collect(Collectors.toMap(p -> p, consumer::position));
    again.forEach(consumer::seek);
    return again.isEmpty();
  }

  /** Returns the partitions that are read. From the reading thread only. */
  public List<TopicPartition> partitions() {
    return new ArrayList<>(consumer.assignment());
  }

  Collection<String> topics() {
    return dispatcher.subscriptions.keySet();
  }

  boolean isClosed() {
    return closed;
  }

  /** Starts to read on a daemon thread of that name. Call once, after {@link #open}. */
  public void start(String threadName) {
    thread.start(threadName);
  }

  /**
   * Stops reading, and returns when the reading thread has: a handler that runs ends first. A call
   * that reads on another thread ends with an {@link IllegalStateException}.
   */
  @Override
  public void close() {
    closed = true;
    consumer.wakeup();
    thread.stop();
    if (!reading.isHeldByCurrentThread()) {
      reading.lock();
      try {
        // There is no group to leave, and nothing to wait for.
        consumer.close(CloseOptions.timeout(Duration.ZERO));
        onClose.run();
      } finally {
        reading.unlock();
      }
    }
  }

  /** Uses the consumer on this thread. */
  void locked(Runnable action) {
    locked(
        () -> {
          action.run();
          return null;
        });
  }

  private <T> T locked(Supplier<T> action) {
    reading.lock();
    try {
      if (closed) {
        throw new IllegalStateException("The reader is closed");
      }
      return action.get();
    } catch (TimeoutException e) {
      throw new ClusterUnavailableException(bootstrapServers, e);
    } catch (WakeupException e) {
      throw new IllegalStateException("The reader was closed", e);
    } finally {
      reading.unlock();
    }
  }
}
