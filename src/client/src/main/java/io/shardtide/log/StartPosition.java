package io.shardtide.log;

/**
 * The first record that a reader takes from each partition of a topic.
 *
 * @param recordsBeforeEnd distance from the partition's end, in offsets; at least 0. A partition
 *     that is shorter is read from its beginning
 */
public record StartPosition(long recordsBeforeEnd) {
  /** The first record that the cluster still has. On a compacted topic: a snapshot. */
  public static final StartPosition BEGINNING = new StartPosition(Long.MAX_VALUE);

  /** The first record that is written after the reader was opened. */
  public static final StartPosition END = new StartPosition(0);

  /** Checks the distance. */
  public StartPosition {
    if (recordsBeforeEnd < 0) {
      throw new IllegalArgumentException(
          "recordsBeforeEnd must be at least 0, got " + recordsBeforeEnd);
    }
  }

  long offset(long begin, long end) {
    return Math.max(begin, end - recordsBeforeEnd);
  }
}
