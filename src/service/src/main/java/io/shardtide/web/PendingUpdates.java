package io.shardtide.web;

import io.shardtide.views.ViewUpdate;
import java.io.ByteArrayOutputStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Updates that a browser has not received yet. Bounded however slowly it reads: a newer row of a
 * workload or pool replaces an older one, and the oldest events are dropped, as the page drops
 * them.
 */
final class PendingUpdates {
  /** Events that are kept: as many as the page keeps. */
  static final int EVENTS = 500;

  private final Map<String, byte[]> latest = new LinkedHashMap<>();
  private final Deque<byte[]> events = new ArrayDeque<>();

  /**
   * Adds an update.
   *
   * @param text its text, which must not change
   */
  void add(ViewUpdate update, byte[] text) {
    if (update.key().isPresent()) {
      latest.put(update.key().get(), text);
      return;
    }
    events.addLast(text);
    if (events.size() > EVENTS) {
      events.removeFirst();
    }
  }

  boolean isEmpty() {
    return latest.isEmpty() && events.isEmpty();
  }

  /** Returns the texts of all updates, and forgets them. */
  byte[] drain() {
    ByteArrayOutputStream batch = new ByteArrayOutputStream();
    latest.values().forEach(batch::writeBytes);
    events.forEach(batch::writeBytes);
    clear();
    return batch.toByteArray();
  }

  void clear() {
    latest.clear();
    events.clear();
  }
}
