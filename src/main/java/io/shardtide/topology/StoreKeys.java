package io.shardtide.topology;

import io.shardtide.wire.Codec;
import io.shardtide.wire.StoreSerdes;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * Keys of stores with many entries for each workload: the workload's id, a zero character, and the
 * entry's name. Names have no control characters, so that no id is a prefix of another's keys.
 */
final class StoreKeys {
  private static final char SEPARATOR = '\0';

  private StoreKeys() {}

  /** Returns a store in RocksDB, logged to Kafka. */
  static <V> StoreBuilder<KeyValueStore<String, V>> builder(StoreName name, Codec<V, ?> codec) {
    return Stores.keyValueStoreBuilder(
        Stores.persistentKeyValueStore(name.toString()), Serdes.String(), StoreSerdes.of(codec));
  }

  /**
   * Returns such a store with a cache: of several values of a key, only the last one before a
   * commit is written to RocksDB and to Kafka.
   */
  static <V> StoreBuilder<KeyValueStore<String, V>> cached(StoreName name, Codec<V, ?> codec) {
    return builder(name, codec).withCachingEnabled();
  }

  static String of(String workloadId, String entry) {
    return workloadId + SEPARATOR + entry;
  }

  /** Returns the values of all entries of a workload. */
  static <V> List<V> values(KeyValueStore<String, V> store, String workloadId) {
    List<V> values = new ArrayList<>();
    try (KeyValueIterator<String, V> entries =
        store.prefixScan(workloadId + SEPARATOR, new StringSerializer())) {
      while (entries.hasNext()) {
        KeyValue<String, V> entry = entries.next();
        values.add(entry.value);
      }
    }
    return values;
  }

  /** Removes all entries of a workload. */
  static <V> void removeAll(KeyValueStore<String, V> store, String workloadId) {
    List<String> keys = new ArrayList<>();
    try (KeyValueIterator<String, V> entries =
        store.prefixScan(workloadId + SEPARATOR, new StringSerializer())) {
      entries.forEachRemaining(entry -> keys.add(entry.key));
    }
    keys.forEach(store::delete);
  }
}
