package io.shardtide.topology;

import io.shardtide.step.KeyValues;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * A store of a task. Reports each write before it is made, so that a failure is known to come
 * before or after the first write.
 *
 * <p>A key is the workload's id or, of a value with a name, the id, a zero character, and the name.
 * Neither has control characters, so that no id is a prefix of another's keys.
 *
 * @param <V> type of the values
 */
final class KeyedStore<V> implements KeyValues<V> {
  static final char SEPARATOR = '\0';

  /**
   * Bytes of values that stay decoded, as they are stored: a search reads all tables of a workload,
   * of which a change has changed one.
   */
  private static final int KEPT_BYTES = 4 << 20;

  private final KeyValueStore<String, byte[]> store;
  private final Serde<V> serde;
  private final Runnable writes;

  /** Values that were read and not written since, by key, the one not read for longest first. */
  private final Map<String, Kept<V>> kept = new LinkedHashMap<>(16, 0.75f, true);

  private long keptBytes;

  /** A value, and the bytes that it has in the store. */
  private record Kept<V>(V value, int bytes) {}

  /**
   * @param store the store; only this writes it
   * @param serde of its values, which nobody changes
   * @param writes is called before each write
   */
  KeyedStore(KeyValueStore<String, byte[]> store, Serde<V> serde, Runnable writes) {
    this.store = store;
    this.serde = serde;
    this.writes = writes;
  }

  /** Opens a task's store. */
  @FunctionalInterface
  interface Opener {
    <V> KeyedStore<V> open(StoreName name);
  }

  static String key(String workloadId, String name) {
    return name.isEmpty() ? workloadId : workloadId + SEPARATOR + name;
  }

  @Override
  public Optional<V> get(String workloadId, String name) {
    String key = key(workloadId, name);
    return known(key)
        .or(() -> Optional.ofNullable(store.get(key)).map(bytes -> decoded(key, bytes)));
  }

  private Optional<V> known(String key) {
    return Optional.ofNullable(kept.get(key)).map(Kept::value);
  }

  /** Decodes a value that is not kept, and keeps it. */
  private V decoded(String key, byte[] bytes) {
    V value = serde.deserializer().deserialize(store.name(), bytes);
    kept.put(key, new Kept<>(value, bytes.length));
    keptBytes += bytes.length;
    Iterator<Kept<V>> oldest = kept.values().iterator();
    while (keptBytes > KEPT_BYTES) {
      keptBytes -= oldest.next().bytes();
      oldest.remove();
    }
    return value;
  }

  /** Reports a write; what is written is decoded again, as after a restart. */
  private void beginWrite(String key) {
    writes.run();
    Kept<V> known = kept.remove(key);
    keptBytes -= known == null ? 0 : known.bytes();
  }

  @Override
  public void put(String workloadId, String name, V value) {
    beginWrite(key(workloadId, name));
    store.put(key(workloadId, name), serde.serializer().serialize(store.name(), value));
  }

  /** Deleting a missing key would still write a tombstone to the changelog. */
  @Override
  public Optional<V> delete(String workloadId, String name) {
    Optional<V> value = get(workloadId, name);
    if (value.isPresent()) {
      beginWrite(key(workloadId, name));
      store.delete(key(workloadId, name));
    }
    return value;
  }

  @Override
  public SortedMap<String, V> range(String workloadId) {
    SortedMap<String, V> values = new TreeMap<>();
    String prefix = workloadId + SEPARATOR;
    try (KeyValueIterator<String, byte[]> entries =
        store.prefixScan(prefix, new StringSerializer())) {
      entries.forEachRemaining(
          entry ->
              values.put(
                  entry.key.substring(prefix.length()),
                  known(entry.key).orElseGet(() -> decoded(entry.key, entry.value))));
    }
    return values;
  }

  @Override
  public List<String> workloads() {
    Set<String> ids = new LinkedHashSet<>();
    try (KeyValueIterator<String, byte[]> all = store.all()) {
      all.forEachRemaining(entry -> ids.add(entry.key.split(String.valueOf(SEPARATOR), 2)[0]));
    }
    return List.copyOf(ids);
  }

  /** Calls an action with each entry, by its key. */
  void forEach(BiConsumer<String, V> action) {
    try (KeyValueIterator<String, byte[]> all = store.all()) {
      all.forEachRemaining(
          entry ->
              action.accept(
                  entry.key, serde.deserializer().deserialize(store.name(), entry.value)));
    }
  }

  /** Returns a workload's highest name; there must be one. */
  String highest(String workloadId) {
    String prefix = workloadId + SEPARATOR;
    try (KeyValueIterator<String, byte[]> last =
        store.reverseRange(prefix, workloadId + (char) (SEPARATOR + 1))) {
      return last.next().key.substring(prefix.length());
    }
  }
}
