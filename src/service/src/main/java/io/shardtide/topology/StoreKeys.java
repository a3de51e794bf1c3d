package io.shardtide.topology;

import io.shardtide.wire.Codec;
import io.shardtide.wire.StoreSerdes;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * Keys of stores with many entries for each workload: the workload's id, a zero character, and the
 * entry's name. Names have no control characters, so that no id is a prefix of another's keys.
 */
final class StoreKeys {
  static final char SEPARATOR = '\0';

  private StoreKeys() {}

  /** Returns a store in RocksDB, logged to Kafka. */
  static <V> StoreBuilder<KeyValueStore<String, V>> builder(StoreName name, Codec<V, ?> codec) {
    return builder(name, StoreSerdes.of(codec));
  }

  /** Returns such a store of values that are not in Avro. */
  static <V> StoreBuilder<KeyValueStore<String, V>> builder(StoreName name, Serde<V> values) {
    return Stores.keyValueStoreBuilder(
        Stores.persistentKeyValueStore(name.toString()), Serdes.String(), values);
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
}
