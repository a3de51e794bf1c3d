package io.shardtide.topology;

import io.shardtide.step.KeyValues;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiConsumer;
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

  private final KeyValueStore<String, V> store;
  private final Runnable writes;

  /**
   * @param store the store
   * @param writes is called before each write
   */
  KeyedStore(KeyValueStore<String, V> store, Runnable writes) {
    this.store = store;
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
    return Optional.ofNullable(store.get(key(workloadId, name)));
  }

  @Override
  public void put(String workloadId, String name, V value) {
    writes.run();
    store.put(key(workloadId, name), value);
  }

  /** Deleting a missing key would still write a tombstone to the changelog. */
  @Override
  public Optional<V> delete(String workloadId, String name) {
    Optional<V> value = get(workloadId, name);
    if (value.isPresent()) {
      writes.run();
      store.delete(key(workloadId, name));
    }
    return value;
  }

  @Override
  public SortedMap<String, V> range(String workloadId) {
    SortedMap<String, V> values = new TreeMap<>();
    String prefix = workloadId + SEPARATOR;
    try (KeyValueIterator<String, V> entries = store.prefixScan(prefix, new StringSerializer())) {
      entries.forEachRemaining(
          entry -> values.put(entry.key.substring(prefix.length()), entry.value));
    }
    return values;
  }

  @Override
  public List<String> workloads() {
    Set<String> ids = new LinkedHashSet<>();
    forEach((key, value) -> ids.add(key.split(String.valueOf(SEPARATOR), 2)[0]));
    return List.copyOf(ids);
  }

  /** Calls an action with each entry, by its key. */
  void forEach(BiConsumer<String, V> action) {
    try (KeyValueIterator<String, V> all = store.all()) {
      all.forEachRemaining(entry -> action.accept(entry.key, entry.value));
    }
  }

  /** Returns a workload's highest name; there must be one. */
  String highest(String workloadId) {
    String prefix = workloadId + SEPARATOR;
    try (KeyValueIterator<String, V> last =
        store.reverseRange(prefix, workloadId + (char) (SEPARATOR + 1))) {
      return last.next().key.substring(prefix.length());
    }
  }
}
