package io.shardtide.log;

import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.SourcePosition;
import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Decodes records and hands them to the handlers of their topics. */
final class RecordDispatcher {
  private static final Logger log = LoggerFactory.getLogger(RecordDispatcher.class);

  private final Map<String, Subscription<?>> subscriptions = new LinkedHashMap<>();
  private final Map<String, Integer> partitions = new HashMap<>();
  private final AtomicLong undecodableRecords = new AtomicLong();
  private Optional<byte[]> key = Optional.empty();
  private Optional<Consumer<RejectedEvent>> undecodable = Optional.empty();
  private Runnable afterRecord = () -> {};

  /** What happens to the records of a topic. */
  private static final class Subscription<V> {
    private final StartPosition start;
    private final RecordDecoder<V> decoder;
    private final RecordHandler<V> handler;
    private Optional<BiConsumer<SourcePosition, String>> tombstones = Optional.empty();

    /** The latest record of each key that is not decoded yet, in the order of reading. */
    private Optional<Map<ByteBuffer, ConsumerRecord<byte[], byte[]>>> held = Optional.empty();

    Subscription(StartPosition start, RecordDecoder<V> decoder, RecordHandler<V> handler) {
      this.start = start;
      this.decoder = decoder;
      this.handler = handler;
    }
  }

  <V> void subscribe(
      String topic, StartPosition start, RecordDecoder<V> decoder, RecordHandler<V> handler) {
    subscriptions.put(topic, new Subscription<>(start, decoder, handler));
  }

  void onTombstone(String topic, BiConsumer<SourcePosition, String> handler) {
    subscriptions.get(topic).tombstones = Optional.of(handler);
  }

  void holdLatest(String topic) {
    subscriptions.get(topic).held = Optional.of(new LinkedHashMap<>());
  }

  void onlyKey(Optional<String> only) {
    key = only.map(text -> text.getBytes(StandardCharsets.UTF_8));
  }

  void onUndecodable(Consumer<RejectedEvent> handler) {
    undecodable = Optional.of(handler);
  }

  /** Records on another partition than that of their key are skipped as invalid. */
  void partitions(String topic, int count) {
    partitions.put(topic, count);
  }

  void afterEachRecord(Runnable task) {
    afterRecord = task;
  }

  Set<String> topics() {
    return subscriptions.keySet();
  }

  StartPosition start(String topic) {
    return subscriptions.get(topic).start;
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
      if (subscription.held.isEmpty() || !hold(subscription.held.get(), record)) {
        dispatch(subscription, record);
      }
    }
    afterRecord.run();
  }

  /** Returns whether the record was put in the place of an earlier one; a tombstone never is. */
  private static boolean hold(
      Map<ByteBuffer, ConsumerRecord<byte[], byte[]>> held, ConsumerRecord<byte[], byte[]> record) {
    if (record.key() == null) {
      return false;
    }
    ByteBuffer recordKey = ByteBuffer.wrap(record.key());
    held.remove(recordKey);
    if (record.value() == null) {
      return false;
    }
    held.put(recordKey, record);
    return true;
  }

  /**
   * Hands on the records that are held, and holds no others; returns true.
   *
   * @throws io.shardtide.wire.RegistryUnavailableException if the schema of one cannot be looked up
   *     now; the next call begins at that record
   */
  boolean dispatchHeld() {
    for (Subscription<?> subscription : subscriptions.values()) {
      if (subscription.held.isPresent()) {
        Iterator<ConsumerRecord<byte[], byte[]>> held = subscription.held.get().values().iterator();
        while (held.hasNext()) {
          dispatch(subscription, held.next());
          held.remove();
        }
        subscription.held = Optional.empty();
      }
    }
    return true;
  }

  private <V> void dispatch(Subscription<V> subscription, ConsumerRecord<byte[], byte[]> record) {
    SourcePosition position =
        new SourcePosition(record.topic(), record.partition(), record.offset());
    if (record.value() == null && record.key() != null && subscription.tombstones.isPresent()) {
      subscription
          .tombstones
          .get()
          .accept(position, new String(record.key(), StandardCharsets.UTF_8));
      return;
    }
    Integer count = partitions.get(record.topic());
    Decoded<V> decoded =
        subscription.decoder.decode(
            position,
            record.key(),
            record.value(),
            count == null ? OptionalInt.empty() : OptionalInt.of(count));
    if (decoded instanceof Decoded.Value<V> value) {
      subscription.handler.accept(
          position, Instant.ofEpochMilli(record.timestamp()), value.value());
    } else if (decoded instanceof Decoded.Invalid<V> invalid) {
      skip(invalid.rejection());
    }
  }

  private void skip(RejectedEvent record) {
    long count = undecodableRecords.incrementAndGet();
    if (undecodable.isPresent()) {
      undecodable.get().accept(record);
    } else if (Long.bitCount(count) == 1) {
      // The 1st, 2nd, 4th, 8th ...: a topic full of foreign records does not fill the log.
      log.warn("{} is skipped, {} records so far: {}", record.source(), count, record.message());
    }
  }
}
