package io.shardtide.trainer;

import java.util.Arrays;

/** The rows of one table that a batch looks up, sample by sample. Filled anew for each step. */
final class Lookups {
  private final int[] ends;
  private long[] rows;

  /**
   * @param batchSize samples in the batch
   */
  Lookups(int batchSize) {
    ends = new int[batchSize];
    rows = new long[batchSize];
  }

  /** Returns the number of samples. */
  int samples() {
    return ends.length;
  }

  /** Returns the position of a sample's first lookup. */
  int begin(int sample) {
    return sample == 0 ? 0 : ends[sample - 1];
  }

  /** Returns the position after a sample's last lookup. */
  int end(int sample) {
    return ends[sample];
  }

  /** Returns the row at a position. */
  long row(int position) {
    return rows[position];
  }

  /** Returns all positions; those from {@link #end} of the last sample on mean nothing. */
  long[] rows() {
    return rows;
  }

  /** Makes room for a sample's lookups, which follow those of the sample before it. */
  void setCount(int sample, int count) {
    int end = begin(sample) + count;
    ends[sample] = end;
    if (end > rows.length) {
      rows = Arrays.copyOf(rows, Math.max(end, 2 * rows.length));
    }
  }
}
