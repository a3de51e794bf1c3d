package io.shardtide.log;

/**
 * A range of offsets of a partition. Not every offset in it holds a record: compaction, and the
 * markers of transactions, leave gaps.
 *
 * @param begin the first offset, at least 0
 * @param end the offset after the last
 */
public record OffsetRange(long begin, long end) {
  /** Checks the order. */
  public OffsetRange {
    if (begin < 0 || end < begin) {
      throw new IllegalArgumentException(
          "An offset range must have 0 <= begin <= end, got %d to %d".formatted(begin, end));
    }
  }

  /** Returns the number of offsets, which is at least the number of records. */
  public long size() {
    return end - begin;
  }
}
