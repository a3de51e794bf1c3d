package io.shardtide.topology;

import io.shardtide.domain.HeldRecord;
import io.shardtide.domain.Quarantine;
import io.shardtide.wire.Codec;
import io.shardtide.wire.StoreSerdes;
import io.shardtide.wire.Topics;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * A task's keys in quarantine and their records, in the order of arrival; in memory, logged to
 * Kafka. Under a key is its {@link Quarantine}, under {@link StoreKeys} of the key and a number a
 * {@link HeldRecord}. The keys alone may be read by other threads.
 */
final class QuarantineStore {
  /** Bytes of records that are held for a key: two of the largest records. */
  static final long MAX_HELD_BYTES = 32L << 20;

  /** Bytes of a record that its changelog takes. */
  private static final int MAX_RECORD_BYTES = Topics.LARGE_RECORD_BYTES - (64 << 10);

  /** Length of a held record's number. */
  private static final int DIGITS = 19;

  private static final Serde<Quarantine> KEYS = StoreSerdes.of(Codec.QUARANTINE);
  private static final Serde<HeldRecord> RECORDS = StoreSerdes.of(Codec.HELD_RECORD);

  private final KeyedStore<byte[]> store;
  private final String name;
  private final Map<String, Held> byKey = new ConcurrentSkipListMap<>();

  /** A key's quarantine, the range of its records' numbers, and their size. */
  private record Held(Quarantine quarantine, long first, long next, long bytes) {
    Held with(Quarantine changed) {
      return new Held(changed, first, next, bytes);
    }
  }

  QuarantineStore(KeyedStore<byte[]> store, StoreName name) {
    this.store = store;
    this.name = name.toString();
    store.forEach(
        (key, value) -> {
          if (key.indexOf(StoreKeys.SEPARATOR) < 0) {
            byKey.put(key, new Held(KEYS.deserializer().deserialize(this.name, value), 0, 0, 0));
          }
        });
    byKey.replaceAll((key, held) -> counted(key, held.quarantine()));
  }

  private Held counted(String key, Quarantine quarantine) {
    List<Long> numbers = new ArrayList<>();
    long[] bytes = {0};
    store.forEach(
        key,
        entry -> {
          numbers.add(Long.parseLong(entry.key.substring(entry.key.length() - DIGITS)));
          bytes[0] += record(entry.value).bytes();
        });
    return numbers.isEmpty()
        ? new Held(quarantine, 0, 0, 0)
        : new Held(quarantine, numbers.get(0), numbers.get(numbers.size() - 1) + 1, bytes[0]);
  }

  private HeldRecord record(byte[] value) {
    return RECORDS.deserializer().deserialize(name, value);
  }

  static StoreBuilder<?> builder(StoreName name) {
    return Stores.keyValueStoreBuilder(
        Stores.inMemoryKeyValueStore(name.toString()), Serdes.String(), Serdes.ByteArray());
  }

  /** Returns the keys in quarantine, in order. */
  Collection<Quarantine> all() {
    return byKey.values().stream().map(Held::quarantine).toList();
  }

  Optional<Quarantine> of(String key) {
    return byKey.isEmpty()
        ? Optional.empty()
        : Optional.ofNullable(byKey.get(key)).map(Held::quarantine);
  }

  /** Puts a key into quarantine, or changes its quarantine. */
  void put(Quarantine quarantine) {
    String key = quarantine.key();
    byKey.merge(key, new Held(quarantine, 0, 0, 0), (old, added) -> old.with(quarantine));
    store.put(key, KEYS.serializer().serialize(name, quarantine));
  }

  /** Ends a key's quarantine; no record is held any more. */
  void remove(String key) {
    byKey.remove(key);
    store.delete(key);
  }

  /** Returns whether a record of a key in quarantine may still be held. */
  boolean hasRoom(String key, HeldRecord record) {
    return hasRoom(byKey.get(key).bytes(), record);
  }

  /** Returns whether a record may be held beside others of so many bytes. */
  static boolean hasRoom(long heldBytes, HeldRecord record) {
    return record.bytes() <= MAX_RECORD_BYTES && heldBytes + record.bytes() <= MAX_HELD_BYTES;
  }

  /** Adds the next record of a key in quarantine. */
  void hold(String key, HeldRecord record) {
    Held held = byKey.get(key);
    store.put(numbered(key, held.next()), RECORDS.serializer().serialize(name, record));
    byKey.put(
        key,
        new Held(held.quarantine(), held.first(), held.next() + 1, held.bytes() + record.bytes()));
  }

  /** Returns the oldest record of a key in quarantine; empty if there is none. */
  Optional<HeldRecord> first(String key) {
    Held held = byKey.get(key);
    return held.first() == held.next()
        ? Optional.empty()
        : Optional.of(record(store.get(numbered(key, held.first()))));
  }

  /** Removes the oldest record of a key in quarantine. */
  void removeFirst(String key) {
    Held held = byKey.get(key);
    byte[] removed = store.delete(numbered(key, held.first()));
    byKey.put(
        key,
        new Held(
            held.quarantine(),
            held.first() + 1,
            held.next(),
            held.bytes() - record(removed).bytes()));
  }

  private static String numbered(String key, long number) {
    return StoreKeys.of(key, "%019d".formatted(number));
  }
}
