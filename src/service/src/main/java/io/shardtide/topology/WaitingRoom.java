package io.shardtide.topology;

import io.shardtide.wire.Codec;
import io.shardtide.wire.StoreSerdes;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.HeldRecord;
import io.shardtide.workload.Quarantine;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * A task's records that cannot be handled yet, by key and in the order of arrival, and its keys in
 * quarantine; in memory, logged to Kafka. Under a key is its {@link Quarantine}, under a separator
 * and a number a {@link HeldRecord}; no key begins with a separator.
 *
 * <p>Other threads may call {@link #all} and {@link #records} alone.
 */
final class WaitingRoom {
  /** MiB of a key's records that wait: two of the largest records. */
  static final long KEY_MIB = 32;

  /** MiB of all records that wait: four keys with as many as they may have. */
  static final long TASK_MIB = 4 * KEY_MIB;

  /**
   * Memory that a record takes beside its key and its value: entries of the store and of queues.
   */
  static final int RECORD_OVERHEAD_BYTES = 512;

  /** Largest record that the changelog accepts inside a {@link HeldRecord}. */
  private static final int MAX_RECORD_BYTES = TopicType.LARGE_RECORD_BYTES - (64 << 10);

  /** How many records are tried at once, so that they do not hold up other keys. */
  private static final int TRIED_AT_ONCE = 100;

  /**
   * How many keys are tried at once that wait for the same. The next ones have their turn later.
   */
  private static final int KEYS_AT_ONCE = 4;

  /** Of the time, tries that end as they began take at most one part in so many. */
  private static final int SHARE_OF_TIME = 10;

  private static final Serde<Quarantine> QUARANTINES = StoreSerdes.of(Codec.QUARANTINE);
  private static final Serde<HeldRecord> RECORDS = StoreSerdes.of(Codec.HELD_RECORD);
  private static final String PREFIX = String.valueOf(KeyedStore.SEPARATOR);

  private final KeyedStore<byte[]> store;
  private final String name;
  private final Map<String, Quarantine> quarantines = new ConcurrentSkipListMap<>();
  private final Map<String, Waiting> waiting = new LinkedHashMap<>();

  /**
   * Keys that may be tried, with what their first record waited for last, in the order of turns.
   */
  private final Map<String, Reason> turns = new LinkedHashMap<>();

  /** Keys whose records that are held are tried. */
  private final Set<String> released = new HashSet<>();

  private final Map<Reason, Pace> paces = new EnumMap<>(Reason.class);
  private long next;
  private long bytes;
  private final AtomicInteger records = new AtomicInteger();

  /** What a key's first record waits for. */
  enum Reason {
    /** A schema that the registry may still give. */
    SCHEMA(500, "a schema that the registry may still give"),
    /** A model that the log may have, which another thread reads. */
    MODEL(20, "a model that the log may have"),
    /** The release of its key, which is in quarantine. */
    FAILED(0, "the end of its key's quarantine");

    private final long pauseMs;
    private final String text;

    Reason(long pauseMs, String text) {
      this.pauseMs = pauseMs;
      this.text = text;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  /** The records of a key, those that are held first. */
  private static final class Waiting {
    /** Of a key in quarantine; they could be decoded. */
    private final Deque<Entry> held = new ArrayDeque<>();

    /** The first one waits for a schema or a model; nobody has looked at the others. */
    private final Deque<Entry> arriving = new ArrayDeque<>();

    private long bytes;

    Deque<Entry> entries(boolean ofHeld) {
      return ofHeld ? held : arriving;
    }

    /** A record, by its key in the store. */
    record Entry(String storeKey, long bytes) {}
  }

  /** When keys are tried again that wait for the same. */
  private static final class Pace {
    private long triedMs;
    private long pauseMs;
    private long spentMs;
    private int tried;

    boolean isDue(long now) {
      // The clock may be set back.
      return Math.abs(now - triedMs) >= pauseMs;
    }

    void waited(long ms) {
      tried++;
      spentMs += ms;
    }

    void end(Reason reason, long now) {
      if (tried > 0) {
        triedMs = now;
        pauseMs = Math.max(reason.pauseMs, spentMs * (SHARE_OF_TIME - 1));
        spentMs = 0;
        tried = 0;
      }
    }
  }

  WaitingRoom(KeyedStore<byte[]> store, StoreName name) {
    this.store = store;
    this.name = name.toString();
    for (Reason reason : Reason.values()) {
      paces.put(reason, new Pace());
    }
    Map<String, HeldRecord> numbered = new LinkedHashMap<>();
    store.forEach(
        (key, value) -> {
          if (key.startsWith(PREFIX)) {
            numbered.put(key, record(value));
            next = Long.parseLong(key.substring(PREFIX.length())) + 1;
          } else {
            quarantines.put(key, QUARANTINES.deserializer().deserialize(this.name, value));
          }
        });
    numbered.forEach((key, record) -> count(key, record, isHeld(key(record))));
    waiting.forEach(
        (key, of) -> {
          if (!of.arriving.isEmpty()) {
            turns.put(key, Reason.MODEL);
          }
        });
  }

  private HeldRecord record(byte[] value) {
    return RECORDS.deserializer().deserialize(name, value);
  }

  private void count(String storeKey, HeldRecord record, boolean held) {
    Waiting of = waiting.computeIfAbsent(key(record), key -> new Waiting());
    of.entries(held).add(new Waiting.Entry(storeKey, size(record)));
    of.bytes += size(record);
    bytes += size(record);
    records.incrementAndGet();
  }

  private static long size(HeldRecord record) {
    return record.bytes() + RECORD_OVERHEAD_BYTES;
  }

  static StoreBuilder<?> builder(StoreName name) {
    return Stores.keyValueStoreBuilder(
        Stores.inMemoryKeyValueStore(name.toString()), Serdes.String(), Serdes.ByteArray());
  }

  /**
   * Returns the text of a record's own key, which is its value's if the record is valid; empty if
   * there is none.
   */
  static String key(HeldRecord record) {
    return record.key().map(key -> new String(key.toArray(), StandardCharsets.UTF_8)).orElse("");
  }

  /** Returns the keys in quarantine, in order. */
  Collection<Quarantine> all() {
    return quarantines.values();
  }

  /** Returns how many records wait. */
  int records() {
    return records.get();
  }

  Optional<Quarantine> of(String key) {
    return Optional.ofNullable(quarantines.get(key));
  }

  /** Returns whether a key is in quarantine, and its next record does not end that. */
  boolean isHeld(String key) {
    return of(key).filter(quarantine -> !quarantine.endsWithNextRecord()).isPresent();
  }

  /** Puts a key into quarantine, or changes its quarantine; ends its release. */
  void put(Quarantine quarantine) {
    String key = quarantine.key();
    quarantines.put(key, quarantine);
    store.put(key, "", QUARANTINES.serializer().serialize(name, quarantine));
    released.remove(key);
    endTurns(key);
  }

  /** Gives a key in quarantine turns: its records are tried, and it leaves after the last. */
  void release(String key) {
    released.add(key);
    turns.put(key, Reason.FAILED);
  }

  boolean isReleased(String key) {
    return released.contains(key);
  }

  /** Ends the quarantine of a key of which no record is held. */
  void remove(String key) {
    quarantines.remove(key);
    store.delete(key, "");
    released.remove(key);
    endTurns(key);
  }

  private void endTurns(String key) {
    if (!released.contains(key) && !hasArriving(key)) {
      turns.remove(key);
    }
  }

  /** Returns whether records of a key wait that are not held. */
  boolean hasArriving(String key) {
    Waiting of = waiting.get(key);
    return of != null && !of.arriving.isEmpty();
  }

  /** Returns whether a record may wait behind those of its key. */
  boolean hasRoom(HeldRecord record) {
    Waiting of = waiting.get(key(record));
    return record.bytes() <= MAX_RECORD_BYTES
        && (of == null ? 0 : of.bytes) + size(record) <= KEY_MIB << 20
        && bytes + size(record) <= TASK_MIB << 20;
  }

  /** Adds a record of a key in quarantine of which none arrives. */
  void hold(HeldRecord record) {
    count(put(record), record, true);
  }

  /** Adds a record behind those of its key that arrive. */
  void add(HeldRecord record) {
    count(put(record), record, false);
  }

  /** Adds a record of a key of which none arrives yet; it waits for this. */
  void add(HeldRecord record, Reason reason) {
    add(record);
    turns.put(key(record), reason);
  }

  /** Stores a record; returns its key in the store. */
  private String put(HeldRecord record) {
    String storeKey = PREFIX + "%019d".formatted(next++);
    store.put(storeKey, "", RECORDS.serializer().serialize(name, record));
    return storeKey;
  }

  /** Returns the first record of a key of those that are held, or of those that arrive. */
  Optional<HeldRecord> first(String key, boolean held) {
    return Optional.ofNullable(waiting.get(key))
        .map(of -> of.entries(held).peek())
        .flatMap(entry -> store.get(entry.storeKey(), ""))
        .map(this::record);
  }

  /** Holds the first record of a key in quarantine that is not held yet. */
  void holdFirst(String key) {
    Waiting of = waiting.get(key);
    of.held.add(of.arriving.remove());
    endTurns(key);
  }

  /** Removes what {@link #first} returns. */
  void removeFirst(String key, boolean held) {
    Waiting of = waiting.get(key);
    Waiting.Entry entry = of.entries(held).remove();
    store.delete(entry.storeKey(), "");
    of.bytes -= entry.bytes();
    bytes -= entry.bytes();
    records.decrementAndGet();
    if (of.held.isEmpty() && of.arriving.isEmpty()) {
      waiting.remove(key);
    }
    endTurns(key);
  }

  /**
   * Has keys tried whose first record may be decided by now.
   *
   * @param first tries a key's first record, or lets a released key leave quarantine if none is
   *     held; returns what the record waits for, empty if it no longer does
   */
  void settle(LongSupplier clockMs, Function<String, Optional<Reason>> first) {
    if (turns.isEmpty()) {
      return;
    }
    long now = clockMs.getAsLong();
    int tried = 0;
    for (String key : List.copyOf(turns.keySet())) {
      Reason reason = turns.get(key);
      if (reason == null
          || !paces.get(reason).isDue(now)
          || (reason != Reason.FAILED && paces.get(reason).tried == KEYS_AT_ONCE)) {
        continue;
      }
      // The next time it is another's turn.
      turns.remove(key);
      turns.put(key, reason);
      Optional<Reason> waits = Optional.empty();
      long beginMs = clockMs.getAsLong();
      while (tried < TRIED_AT_ONCE && waits.isEmpty() && turns.containsKey(key)) {
        beginMs = clockMs.getAsLong();
        waits = first.apply(key);
        tried++;
      }
      if (waits.isPresent()) {
        turns.put(key, waits.get());
        paces.get(waits.get()).waited(clockMs.getAsLong() - beginMs);
      }
      if (tried == TRIED_AT_ONCE) {
        break;
      }
    }
    long end = clockMs.getAsLong();
    paces.forEach((reason, pace) -> pace.end(reason, end));
  }
}
