package io.shardtide.topology;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Values of stores that stay decoded, those that were read last: a search reads all tables of a
 * workload, of which a change has changed one. Thread-safe.
 */
final class DecodedValues {
  /**
   * Bytes of all values, as they are stored: those of some 900 tables, and their plan. Decoded they
   * take three to five times as many.
   */
  static final int BYTES = 1 << 20;

  /** The one not read for longest first. */
  private final Map<Key, Value> values = new LinkedHashMap<>(16, 0.75f, true);

  private long bytes;

  private record Key(Object store, String key) {}

  private record Value(Object decoded, int bytes) {}

  @SuppressWarnings("unchecked") // A store puts its values.
  synchronized <V> Optional<V> get(Object store, String key) {
    return Optional.ofNullable(values.get(new Key(store, key))).map(value -> (V) value.decoded);
  }

  /** Adds a value that is not there. */
  synchronized void add(Object store, String key, Object decoded, int size) {
    values.put(new Key(store, key), new Value(decoded, size));
    bytes += size;
    for (Iterator<Value> oldest = values.values().iterator(); bytes > BYTES; oldest.remove()) {
      bytes -= oldest.next().bytes;
    }
  }

  synchronized void remove(Object store, String key) {
    Value removed = values.remove(new Key(store, key));
    bytes -= removed == null ? 0 : removed.bytes;
  }
}
