package io.shardtide.views;

import java.util.Deque;
import java.util.Map;

/** Adds to collections that keep a number of the latest values. */
final class Recent {
  private Recent() {}

  /** Adds a value; removes the oldest ones above the number. */
  static <V> void add(Deque<V> kept, V value, int most) {
    kept.addLast(value);
    while (kept.size() > most) {
      kept.removeFirst();
    }
  }

  /** Puts a value last; removes the first one above the number. The map keeps the order. */
  static <K, V> void put(Map<K, V> kept, K key, V value, int most) {
    kept.remove(key);
    kept.put(key, value);
    if (kept.size() > most) {
      kept.remove(kept.keySet().iterator().next());
    }
  }
}
