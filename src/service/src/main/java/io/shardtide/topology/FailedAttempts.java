package io.shardtide.topology;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What failed in a transaction that was aborted, in this process: the next attempt puts the key
 * into quarantine instead. Outlives the stream threads; safe for use by several of them.
 */
final class FailedAttempts {
  /** More than one key fails only where all do; an older entry costs one more transaction. */
  private static final int MOST = 1_000;

  private final Map<Attempt, String> errors =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Attempt, String> eldest) {
          return size() > MOST;
        }
      };

  private record Attempt(String key, String work) {}

  /** Remembers what failed. */
  synchronized void add(String key, String work, String error) {
    errors.put(new Attempt(key, work), error);
  }

  /** Returns the error of the attempt before, once; empty if it did not fail. */
  synchronized Optional<String> take(String key, String work) {
    return errors.isEmpty()
        ? Optional.empty()
        : Optional.ofNullable(errors.remove(new Attempt(key, work)));
  }
}
