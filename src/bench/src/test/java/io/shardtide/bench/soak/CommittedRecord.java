package io.shardtide.bench.soak;

import io.shardtide.workload.SourcePosition;
import java.util.Objects;
import java.util.Optional;

/**
 * A committed record of a topic.
 *
 * @param <V> type of the topic's values
 */
public sealed interface CommittedRecord<V> {
  /** Returns where it lies. */
  SourcePosition position();

  /**
   * A record with a value.
   *
   * @param position where it lies
   * @param value its value
   */
  record Stored<V>(SourcePosition position, V value) implements CommittedRecord<V> {
    /** Checks that nothing is missing. */
    public Stored {
      Objects.requireNonNull(position, "position");
      Objects.requireNonNull(value, "value");
    }
  }

  /**
   * A tombstone on a compacted topic.
   *
   * @param position where it lies
   * @param key the key whose record is gone
   */
  record Tombstone<V>(SourcePosition position, String key) implements CommittedRecord<V> {
    /** Checks that nothing is missing. */
    public Tombstone {
      Objects.requireNonNull(position, "position");
      Objects.requireNonNull(key, "key");
    }
  }

  /**
   * A record that cannot be decoded, or whose key is not its value's.
   *
   * @param position where it lies
   * @param workloadId the workload that its key names, if any
   */
  record Unreadable<V>(SourcePosition position, Optional<String> workloadId)
      implements CommittedRecord<V> {
    /** Checks that nothing is missing. */
    public Unreadable {
      Objects.requireNonNull(position, "position");
      Objects.requireNonNull(workloadId, "workloadId");
    }
  }
}
