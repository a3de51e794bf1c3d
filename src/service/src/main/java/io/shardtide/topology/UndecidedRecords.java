package io.shardtide.topology;

import io.shardtide.domain.Bytes;
import io.shardtide.domain.HeldRecord;
import io.shardtide.wire.Codec;
import io.shardtide.wire.StoreSerdes;
import io.shardtide.wire.UndecidedSchemaException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.kafka.common.serialization.Serde;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A task's records that wait for a schema which the registry may still give, or for a model which
 * the log may, and the later ones of their keys, in the order of arrival. They lie in the store of
 * the keys in quarantine, under a separator and a number: no key begins with a separator.
 */
final class UndecidedRecords {
  private static final Logger log = LoggerFactory.getLogger(UndecidedRecords.class);

  /** How often the registry is asked again, and for what part of the time at most. */
  private static final long ASK_MS = 500;

  /** How often records are tried again that wait for a model, which another thread reads. */
  private static final long MODEL_MS = 20;

  private static final int SHARE_OF_TIME = 10;

  /** For how many keys it is asked then. The next ones have their turn the next time. */
  private static final int ASKED_AT_ONCE = 4;

  /** How many records are handled then. */
  private static final int SETTLED_AT_ONCE = 100;

  private static final Serde<HeldRecord> RECORDS = StoreSerdes.of(Codec.HELD_RECORD);
  private static final String PREFIX = String.valueOf(StoreKeys.SEPARATOR);

  private final KeyedStore<byte[]> store;
  private final String name;

  /** Numbers by the records' own keys, which nobody has compared with their values yet. */
  private final Map<Optional<Bytes>, Deque<Long>> byKey = new LinkedHashMap<>();

  /** Handles a record; returns false if it waits. */
  private final Predicate<HeldRecord> handler;

  private long next;
  private long bytes;
  private long askedAtMs;
  private long pauseMs = MODEL_MS;

  /** Whether the registry was asked since the last turn, and not only for a model. */
  private boolean asked;

  UndecidedRecords(KeyedStore<byte[]> store, StoreName name, Predicate<HeldRecord> handler) {
    this.store = store;
    this.name = name.toString();
    this.handler = handler;
    Map<Long, HeldRecord> found = new TreeMap<>();
    store.forEach(
        (key, value) -> {
          if (key.startsWith(PREFIX)) {
            found.put(
                Long.parseLong(key.substring(PREFIX.length())),
                RECORDS.deserializer().deserialize(this.name, value));
          }
        });
    found.forEach(this::count);
  }

  private void count(long number, HeldRecord record) {
    byKey.computeIfAbsent(record.key(), key -> new ArrayDeque<>()).add(number);
    next = number + 1;
    bytes += record.bytes();
  }

  private static String numbered(long number) {
    return PREFIX + "%019d".formatted(number);
  }

  /**
   * Decodes a record.
   *
   * @return empty if its schema is not known yet, and it can wait
   * @throws UndecidedSchemaException if there is no room for it: the partition waits
   */
  <V> Optional<V> unless(HeldRecord record, Supplier<V> decode) {
    try {
      return Optional.of(decode.get());
    } catch (UndecidedSchemaException e) {
      asked = true;
      if (!hasRoom(record)) {
        throw e;
      }
      if (!byKey.containsKey(record.key())) {
        log.info("{} and later records of its key wait: {}", record.source(), e.getMessage());
      }
      return Optional.empty();
    }
  }

  /**
   * Checks that a record may wait.
   *
   * @throws IllegalStateException if there is no room for it: the thread ends, and the next one
   *     processes the record again
   */
  void requireRoom(HeldRecord record) {
    if (!hasRoom(record)) {
      throw new IllegalStateException(
          "%s waits for a model, and there is no room for it among the %d bytes of records that wait"
              .formatted(record.source(), bytes));
    }
  }

  private boolean hasRoom(HeldRecord record) {
    return QuarantineStore.hasRoom(bytes, record);
  }

  /** Handles a record, after those of its key that wait. */
  void receive(HeldRecord record) {
    while (byKey.containsKey(record.key()) && !hasRoom(record)) {
      settleFirst(record.key());
    }
    if (byKey.containsKey(record.key()) || !handler.test(record)) {
      store.put(numbered(next), RECORDS.serializer().serialize(name, record));
      count(next, record);
    }
  }

  /** Handles the records whose schema or model is known by now, or never will be. */
  void settle(LongSupplier clockMs) {
    long startMs = clockMs.getAsLong();
    // The clock may be set back.
    if (byKey.isEmpty() || Math.abs(startMs - askedAtMs) < pauseMs) {
      return;
    }
    int settled = 0;
    asked = false;
    for (int i = Math.min(ASKED_AT_ONCE, byKey.size()); i > 0; i--) {
      Optional<Bytes> key = turn();
      while (settled < SETTLED_AT_ONCE && byKey.containsKey(key) && settleFirst(key)) {
        settled++;
      }
    }
    askedAtMs = clockMs.getAsLong();
    pauseMs =
        settled < SETTLED_AT_ONCE
            ? Math.max(asked ? ASK_MS : MODEL_MS, (askedAtMs - startMs) * (SHARE_OF_TIME - 1))
            : 0;
  }

  /** Returns the key whose turn it is. The next time it is another's. */
  private Optional<Bytes> turn() {
    Optional<Bytes> key = byKey.keySet().iterator().next();
    byKey.put(key, byKey.remove(key));
    return key;
  }

  /** Handles the oldest waiting record of a key; returns false if it still waits. */
  private boolean settleFirst(Optional<Bytes> key) {
    Deque<Long> numbers = byKey.get(key);
    String number = numbered(numbers.element());
    HeldRecord record = RECORDS.deserializer().deserialize(name, store.get(number));
    if (!handler.test(record)) {
      return false;
    }
    store.delete(number);
    bytes -= record.bytes();
    numbers.remove();
    if (numbers.isEmpty()) {
      byKey.remove(key);
    }
    return true;
  }
}
