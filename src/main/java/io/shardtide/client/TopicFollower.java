package io.shardtide.client;

import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.SourcePosition;
import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.Topic;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows topics on a thread of its own, every partition, what is committed only, and never skips a
 * record in silence: what cannot be read is said, and while the registry is away the record waits.
 */
public final class TopicFollower implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(TopicFollower.class);
  private static final Duration POLL = Duration.ofMillis(50);
  private static final long REGISTRY_PAUSE_MS = 500;

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final Registry registry;
  private final Optional<byte[]> key;
  private final Map<String, Follower<?>> followers = new HashMap<>();
  private final Thread thread = new Thread(this::run, "shardtide-client");
  private final Map<String, Consumer<String>> deletions = new HashMap<>();
  private Runnable tick = () -> {};
  private Consumer<RejectedEvent> unreadable = record -> {};
  private Consumer<RuntimeException> failed = error -> {};
  private volatile boolean stopped;

  /** Reads a topic's records and hands them on. */
  private record Follower<V>(RecordDecoder<V> decoder, RecordHandler<V> handler) {}

  /**
   * Takes what records hold.
   *
   * @param <V> what they hold
   */
  @FunctionalInterface
  public interface RecordHandler<V> {
    /**
     * Takes it.
     *
     * @param at where the record lies in the log
     * @param writtenAt when it was written, by the clock of whoever wrote it or of the cluster
     * @param value what it holds
     */
    void accept(SourcePosition at, Instant writtenAt, V value);
  }

  /**
   * @param endpoint where the log is
   * @param registry has the schemas; is not closed with this
   * @param workloadId whose records are handed on; empty for all
   */
  public TopicFollower(Endpoint endpoint, Registry registry, Optional<String> workloadId) {
    this.registry = registry;
    key = workloadId.map(id -> id.getBytes(StandardCharsets.UTF_8));
    consumer = endpoint.reader(Map.of());
  }

  /**
   * Hands on what a topic's records hold.
   *
   * @param keyOf gives the key that a record must have; empty for any
   */
  <V> TopicFollower follow(
      Topic<V> topic, Optional<Function<V, String>> keyOf, BiConsumer<SourcePosition, V> handler) {
    return followDated(topic, keyOf, (at, writtenAt, value) -> handler.accept(at, value));
  }

  /**
   * Hands on what a topic's records hold, and when they were written.
   *
   * @param keyOf gives the key that a record must have; empty for any
   */
  public <V> TopicFollower followDated(
      Topic<V> topic, Optional<Function<V, String>> keyOf, RecordHandler<V> handler) {
    followers.put(
        topic.name(), new Follower<>(new RecordDecoder<>(registry, topic, keyOf), handler));
    return this;
  }

  /**
   * Calls a handler with the key of each tombstone of a compacted topic; without one, a tombstone
   * counts as unreadable.
   */
  public TopicFollower deletions(Topic<?> topic, Consumer<String> handler) {
    deletions.put(topic.name(), handler);
    return this;
  }

  /** Runs something on the thread again and again, between records. */
  public TopicFollower each(Runnable newTick) {
    tick = newTick;
    return this;
  }

  /** Says what cannot be read. */
  public TopicFollower unreadable(Consumer<RejectedEvent> handler) {
    unreadable = handler;
    return this;
  }

  /** Says what ended the thread, if anything but {@link #close} did. */
  public TopicFollower failed(Consumer<RuntimeException> handler) {
    failed = handler;
    return this;
  }

  /**
   * Takes its place: at the first record of each partition, or after the last that is there now.
   * What is published after this returns is seen.
   *
   * @return where the partitions end now, without transactions that are open
   * @throws IllegalStateException if a topic is not there
   */
  Map<TopicPartition, Long> assign(boolean atBeginning) {
    return assign(atBeginning ? Long.MAX_VALUE : 0, Map.of());
  }

  /**
   * Takes its place some records before the last that is there now, or at the first if there are
   * not so many. What is published after this returns is seen.
   *
   * @param most how far before the end of each partition; 0 for nothing of what is there
   * @param mostOf the same for topics for which it is another number, by their names
   * @return where the partitions end now, without transactions that are open
   * @throws IllegalStateException if a topic is not there
   */
  public Map<TopicPartition, Long> assign(long most, Map<String, Long> mostOf) {
    try {
      List<TopicPartition> partitions = new ArrayList<>();
      for (String topic : followers.keySet().stream().sorted().toList()) {
        List<PartitionInfo> found = consumer.partitionsFor(topic);
        if (found.isEmpty()) {
          throw new IllegalStateException(
              "There is no topic %s on the cluster; legal is a cluster that a planner runs on. Maybe another prefix"
                  .formatted(topic));
        }
        found.forEach(p -> partitions.add(new TopicPartition(topic, p.partition())));
      }
      consumer.assign(partitions);
      Map<TopicPartition, Long> begins = consumer.beginningOffsets(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      // Now, not when the first records are asked for.
      ends.forEach(
          (partition, end) ->
              consumer.seek(
                  partition,
                  Math.max(
                      begins.get(partition), end - mostOf.getOrDefault(partition.topic(), most))));
      return ends;
    } catch (RuntimeException e) {
      consumer.close();
      throw e;
    }
  }

  /** Starts to hand on. */
  public void start() {
    thread.setDaemon(true);
    thread.start();
  }

  /** Returns whether all before some ends was handed on. On the tail's thread only. */
  public boolean isPast(Map<TopicPartition, Long> ends) {
    return ends.entrySet().stream().allMatch(e -> consumer.position(e.getKey()) >= e.getValue());
  }

  /** Returns what is followed. On the tail's thread only. */
  List<TopicPartition> partitions() {
    return List.copyOf(consumer.assignment());
  }

  private void run() {
    try (consumer) {
      while (!stopped) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
          if (key.isEmpty() || Arrays.equals(key.get(), record.key())) {
            take(followers.get(record.topic()), record);
          }
        }
        tick.run();
      }
    } catch (WakeupException e) {
      // Closed.
    } catch (RuntimeException e) {
      log.error("What is published is followed no more", e);
      failed.accept(e);
    }
  }

  private <V> void take(Follower<V> follower, ConsumerRecord<byte[], byte[]> record) {
    Consumer<String> deleted = deletions.get(record.topic());
    if (deleted != null && record.value() == null && record.key() != null) {
      deleted.accept(new String(record.key(), StandardCharsets.UTF_8));
      return;
    }
    SourcePosition position =
        new SourcePosition(record.topic(), record.partition(), record.offset());
    Decoded<V> decoded = decode(follower, position, record);
    if (decoded instanceof Decoded.Value<V> value) {
      follower.handler().accept(position, Instant.ofEpochMilli(record.timestamp()), value.value());
    } else if (decoded instanceof Decoded.Invalid<V> rejected) {
      unreadable.accept(rejected.rejection());
    }
  }

  private <V> Decoded<V> decode(
      Follower<V> follower, SourcePosition position, ConsumerRecord<byte[], byte[]> record) {
    while (true) {
      try {
        return follower.decoder().decode(position, record.key(), record.value());
      } catch (RegistryUnavailableException e) {
        log.warn("{} waits: {}", position, e.getMessage());
        pause();
      }
    }
  }

  private void pause() {
    try {
      Thread.sleep(REGISTRY_PAUSE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (stopped || Thread.currentThread().isInterrupted()) {
      throw new WakeupException();
    }
  }

  @Override
  public void close() {
    stopped = true;
    if (thread.getState() == Thread.State.NEW) {
      consumer.close();
      return;
    }
    consumer.wakeup();
    if (Thread.currentThread() != thread) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
