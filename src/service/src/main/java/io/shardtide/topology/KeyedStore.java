package io.shardtide.topology;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * A store of a task. Reports each write before it is made, so that a failure is known to come
 * before or after the first write.
 *
 * @param <V> type of the values
 */
final class KeyedStore<V> {
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

  /** Returns the value of a key; null if there is none. */
  V get(String key) {
    return store.get(key);
  }

  void put(String key, V value) {
    writes.run();
    store.put(key, value);
  }

  /** Removes a key; returns its value, null if there was none. */
  V delete(String key) {
    writes.run();
    return store.delete(key);
  }

  /** Calls an action with each entry. */
  void forEach(BiConsumer<String, V> action) {
    try (KeyValueIterator<String, V> all = store.all()) {
      all.forEachRemaining(entry -> action.accept(entry.key, entry.value));
    }
  }

  /** Calls an action with each entry of a workload, in the order of their keys. */
  void forEach(String workloadId, Consumer<KeyValue<String, V>> action) {
    try (KeyValueIterator<String, V> entries =
        store.prefixScan(StoreKeys.of(workloadId, ""), new StringSerializer())) {
      entries.forEachRemaining(action);
    }
  }

  /** Returns the values of all entries of a workload. */
  List<V> values(String workloadId) {
    List<V> values = new ArrayList<>();
    forEach(workloadId, entry -> values.add(entry.value));
    return values;
  }

  /** Removes all entries of a workload. */
  void removeAll(String workloadId) {
    List<String> keys = new ArrayList<>();
    forEach(workloadId, entry -> keys.add(entry.key));
    keys.forEach(this::delete);
  }

  /** Returns the highest key in a range, both ends included; there must be one. */
  String highest(String from, String to) {
    try (KeyValueIterator<String, V> last = store.reverseRange(from, to)) {
      return last.next().key;
    }
  }
}
