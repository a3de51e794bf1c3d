package io.shardtide.trainer;

import java.util.Arrays;

/** The rows of one table that a batch looks up, by sample. Reused for each step. */
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

  /** Returns the index of a sample's first lookup. */
  int begin(int sample) {
    return sample == 0 ? 0 : ends[sample - 1];
  }

  /** Returns the index after a sample's last lookup. */
  int end(int sample) {
    return ends[sample];
  }

  /** Returns the row of a lookup. */
  long row(int lookup) {
    return rows[lookup];
  }

  /** Returns the rows of all lookups; unused entries follow {@link #end} of the last sample. */
  long[] rows() {
    return rows;
  }

  /** Sets the number of a sample's lookups. Samples must be set in order. */
  void setCount(int sample, int count) {
    int end = begin(sample) + count;
    ends[sample] = end;
    if (end > rows.length) {
      rows = Arrays.copyOf(rows, Math.max(end, 2 * rows.length));
    }
  }

  /**
   * Replaces these lookups by those of a range of rows.
   *
   * @param from lookups to select from
   * @param rowOffset the first row
   * @param rowEnd the row behind the last one
   * @param firstSample the sample that becomes the first one
   */
  void select(Lookups from, long rowOffset, long rowEnd, int firstSample) {
    for (int s = 0; s < ends.length; s++) {
      int begin = from.begin(firstSample + s);
      int end = from.end(firstSample + s);
      int next = begin(s);
      // Room for all of the sample's lookups; the count is corrected below.
      setCount(s, end - begin);
      for (int i = begin; i < end; i++) {
        long row = from.rows[i];
        if (rowOffset <= row && row < rowEnd) {
          rows[next++] = row;
        }
      }
      ends[s] = next;
    }
  }

  /**
   * Returns all lookups ordered by row, then by sample: each as the row's number followed by the
   * sample's.
   *
   * @param sampleBits bits of a sample's number
   */
  long[] rowsWithSamples(int sampleBits) {
    long[] sorted = new long[ends[ends.length - 1]];
    for (int s = 0; s < ends.length; s++) {
      for (int i = begin(s); i < end(s); i++) {
        sorted[i] = rows[i] << sampleBits | s;
      }
    }
    Arrays.sort(sorted);
    return sorted;
  }
}
