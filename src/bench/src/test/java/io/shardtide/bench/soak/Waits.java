package io.shardtide.bench.soak;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * How long publishers wait for answers: from the moment that an event is given to the producer, its
 * failures and retries included, until the event's plan or rejection can be read. Thread-safe.
 */
final class Waits {
  private final Map<UUID, Long> open = new HashMap<>();
  private final List<Wait> ended = new ArrayList<>();

  /**
   * A wait that has ended.
   *
   * @param sentNanos when the event was given to the producer, of {@link System#nanoTime}
   * @param answeredNanos when it was answered
   */
  private record Wait(long sentNanos, long answeredNanos) {}

  synchronized void sent(UUID eventId, long nanos) {
    open.put(eventId, nanos);
  }

  synchronized void answered(UUID eventId, long nanos) {
    Long sent = open.remove(eventId);
    if (sent != null) {
      ended.add(new Wait(sent, nanos));
    }
  }

  /** Returns the number of events without an answer. */
  synchronized int open() {
    return open.size();
  }

  /** Returns the ids of events without an answer. */
  synchronized Set<UUID> unanswered() {
    return Set.copyOf(open.keySet());
  }

  /** Returns the number of events with an answer. */
  synchronized int ended() {
    return ended.size();
  }

  /**
   * Returns the longest wait for events that were sent during a time; those without an answer have
   * waited until now.
   *
   * @param fromNanos beginning of the time
   * @param toNanos end of the time, exclusive
   * @param nowNanos the time now
   */
  synchronized Duration longest(long fromNanos, long toNanos, long nowNanos) {
    long longest = 0;
    for (Wait wait : ended) {
      if (wait.sentNanos() >= fromNanos && wait.sentNanos() < toNanos) {
        longest = Math.max(longest, wait.answeredNanos() - wait.sentNanos());
      }
    }
    for (long sent : open.values()) {
      if (sent >= fromNanos && sent < toNanos) {
        longest = Math.max(longest, nowNanos - sent);
      }
    }
    return Duration.ofNanos(longest);
  }

  /**
   * Returns a quantile of all waits that have ended.
   *
   * @param share 0 to 1
   */
  synchronized Duration quantile(double share) {
    long[] waits =
        ended.stream()
            .mapToLong(wait -> wait.answeredNanos() - wait.sentNanos())
            .sorted()
            .toArray();
    return waits.length == 0
        ? Duration.ZERO
        : Duration.ofNanos(waits[(int) Math.min(waits.length - 1, (long) (share * waits.length))]);
  }
}
