package io.shardtide.topology;

import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * What failed in this process: in a transaction that was aborted, so that the next attempt puts the
 * key into quarantine instead, and which keys entered quarantine since. Outlives the stream
 * threads; safe for use by several of them.
 */
final class FailedAttempts {
  /** More than one key fails only where all do; an older entry costs one more transaction. */
  private static final int MOST = 1_000;

  /**
   * How long an aborted attempt is remembered: longer than state is restored. If the partition
   * moved, and comes back later, the work is not the same.
   */
  static final Duration REMEMBERED = Duration.ofHours(1);

  private final LongSupplier nanoTime;
  private final Set<String> entered = new HashSet<>();
  private final Map<Attempt, Failure> failures =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Attempt, Failure> eldest) {
          return size() > MOST;
        }
      };

  private record Attempt(String key, String work) {}

  private record Failure(String error, long nanos) {}

  /**
   * @param nanoTime monotonic time, in nanoseconds from any origin
   */
  FailedAttempts(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  /** Remembers what failed. */
  synchronized void add(String key, String work, String error) {
    failures.put(new Attempt(key, work), new Failure(error, nanoTime.getAsLong()));
  }

  /** Returns the error of the attempt before, once; empty if it did not fail. */
  synchronized Optional<String> take(String key, String work) {
    return Optional.ofNullable(failures.remove(new Attempt(key, work)))
        .filter(f -> nanoTime.getAsLong() - f.nanos() < REMEMBERED.toNanos())
        .map(Failure::error);
  }

  /** Remembers that a key failed here and entered quarantine. */
  synchronized void entered(String key) {
    entered.add(key);
  }

  /** A key is tried again, or left quarantine. */
  synchronized void released(String key) {
    entered.remove(key);
  }

  /** Returns whether a key in quarantine failed in this process, and was not released since. */
  synchronized boolean isHere(String key) {
    return entered.contains(key);
  }
}
