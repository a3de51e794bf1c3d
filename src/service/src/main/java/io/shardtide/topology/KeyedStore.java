package io.shardtide.topology;

import io.shardtide.step.KeyValues;
import java.util.LinkedHashSet;
import java.util.List;
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

  private static final DecodedValues KNOWN = new DecodedValues();

  private final KeyValueStore<String, byte[]> store;
  private final Serde<V> serde;
  private final Runnable writes;

  /** Stands for the store among known values: theirs may outlive it. */
  private final Object id = new Object();

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
    return KNOWN
        .<V>get(id, key)
        .or(() -> Optional.ofNullable(store.get(key)).map(bytes -> decoded(key, bytes)));
  }

  /** Decodes a value that is not known. */
  private V decoded(String key, byte[] bytes) {
    V value = serde.deserializer().deserialize(store.name(), bytes);
    KNOWN.add(id, key, value, bytes.length);
    return value;
  }

  /** Reports a write; what is written is decoded again, as after a restart. */
  private void beginWrite(String key) {
    writes.run();
    KNOWN.remove(id, key);
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
                  KNOWN.<V>get(id, entry.key).orElseGet(() -> decoded(entry.key, entry.value))));
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
