package io.shardtide.log;

import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Topic;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.SourcePosition;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Decodes records and hands them to the handlers of their topics. */
final class RecordDispatcher {
  private static final Logger log = LoggerFactory.getLogger(RecordDispatcher.class);

  /** By the name of the topic. */
  final Map<String, Subscription<?>> subscriptions = new LinkedHashMap<>();

  /** Only records with this key are handed on; empty for all. */
  Optional<byte[]> key = Optional.empty();

  /** Takes records that cannot be decoded. */
  Consumer<RejectedEvent> undecodable = this::report;

  /** Runs after each record. */
  Runnable afterRecord = () -> {};

  private final AtomicLong undecodableRecords = new AtomicLong();

  /** What happens to the records of a topic. */
  static final class Subscription<V> {
    final Topic<V> topic;
    final StartPosition start;
    private final RecordDecoder<V> decoder;
    private final RecordHandler<V> handler;
    Optional<BiConsumer<SourcePosition, String>> tombstones = Optional.empty();
    Predicate<Headers> skipped = headers -> false;

    /** Records on another partition than that of their key are invalid, once this is known. */
    OptionalInt partitions = OptionalInt.empty();

    /** Where the latest record of each key lies, while none is handed on. */
    Optional<Map<ByteBuffer, SourcePosition>> latest = Optional.empty();

    /** Which records are handed on, by partition, while they are read again. */
    private Map<Integer, Again> again = Map.of();

    Subscription(
        Topic<V> topic, StartPosition start, RecordDecoder<V> decoder, RecordHandler<V> handler) {
      this.topic = topic;
      this.start = start;
      this.decoder = decoder;
      this.handler = handler;
    }
  }

  /**
   * A part of a partition that is read again.
   *
   * @param offsets of the records that are handed on
   * @param end the offset after the part
   */
  private record Again(Set<Long> offsets, long end) {}

  /** Returns those of all partitions of a topic, in their order, that can have such records. */
  List<TopicPartition> withKey(List<TopicPartition> all) {
    return key.map(of -> List.of(all.get(RecordDecoder.partition(of, all.size())))).orElse(all);
  }

  long undecodableRecords() {
    return undecodableRecords.get();
  }

  /**
   * Hands a record on.
   *
   * @throws io.shardtide.wire.RegistryUnavailableException if its schema cannot be looked up now
   */
  void dispatch(ConsumerRecord<byte[], byte[]> record) {
    if (key.isEmpty() || Arrays.equals(key.get(), record.key())) {
      Subscription<?> subscription = subscriptions.get(record.topic());
      if (isHandedOn(subscription, record)) {
        dispatch(subscription, record);
      }
    }
    afterRecord.run();
  }

  private static boolean isHandedOn(
      Subscription<?> subscription, ConsumerRecord<byte[], byte[]> record) {
    if (subscription.latest.isPresent()) {
      return !isNoted(subscription.latest.get(), record);
    }
    Again again = subscription.again.get(record.partition());
    return again == null
        || record.offset() >= again.end()
        || again.offsets().contains(record.offset());
  }

  /** Returns whether a record takes the place of an earlier one; a tombstone never does. */
  private static boolean isNoted(
      Map<ByteBuffer, SourcePosition> latest, ConsumerRecord<byte[], byte[]> record) {
    if (record.key() == null) {
      return false;
    }
    ByteBuffer recordKey = ByteBuffer.wrap(record.key());
    if (record.value() == null) {
      latest.remove(recordKey);
      return false;
    }
    latest.put(recordKey, position(record));
    return true;
  }

  /**
   * Ends the time in which only the latest records count. They are handed on when they are read
   * again: their bytes, of all keys together, may exceed the memory.
   *
   * @param next the next offset of a partition; records before it are only handed on if they are
   *     the latest of their keys
   * @return for each partition that has such records the offset of the first one; empty from the
   *     second call on
   */
  Map<TopicPartition, Long> readAgain(ToLongFunction<TopicPartition> next) {
    Map<TopicPartition, Long> first = new HashMap<>();
    subscriptions.forEach(
        (topic, subscription) -> {
          Map<Integer, Again> again = new HashMap<>();
          for (SourcePosition at : subscription.latest.orElse(Map.of()).values()) {
            TopicPartition partition = new TopicPartition(topic, at.partition());
            again
                .computeIfAbsent(
                    at.partition(), p -> new Again(new HashSet<>(), next.applyAsLong(partition)))
                .offsets()
                .add(at.offset());
            first.merge(partition, at.offset(), Math::min);
          }
          subscription.latest = Optional.empty();
          subscription.again = again;
        });
    return first;
  }

  private static SourcePosition position(ConsumerRecord<byte[], byte[]> record) {
    return new SourcePosition(record.topic(), record.partition(), record.offset());
  }

  private <V> void dispatch(Subscription<V> subscription, ConsumerRecord<byte[], byte[]> record) {
    if (subscription.skipped.test(record.headers())) {
      return;
    }
    SourcePosition position = position(record);
    if (record.value() == null && record.key() != null && subscription.tombstones.isPresent()) {
      subscription
          .tombstones
          .get()
          .accept(position, new String(record.key(), StandardCharsets.UTF_8));
      return;
    }
    Decoded<V> decoded =
        subscription.decoder.decode(
            position, record.key(), record.value(), subscription.partitions);
    if (decoded instanceof Decoded.Value<V> value) {
      subscription.handler.accept(
          position, Instant.ofEpochMilli(record.timestamp()), value.value());
    } else if (decoded instanceof Decoded.Invalid<V> invalid) {
      undecodableRecords.incrementAndGet();
      undecodable.accept(invalid.rejection());
    }
  }

  private void report(RejectedEvent record) {
    if (Long.bitCount(undecodableRecords.get()) == 1) {
      // The 1st, 2nd, 4th, 8th ...: a topic full of foreign records does not fill the log.
      log.warn(
          "{} is skipped, {} records so far: {}",
          record.source(),
          undecodableRecords,
          record.message());
    }
  }
}
