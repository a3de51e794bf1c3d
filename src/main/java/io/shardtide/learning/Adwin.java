package io.shardtide.learning;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;

/**
 * Adaptive windowing (Bifet and Gavalda, SDM 2007), in its second version: values are kept in
 * buckets of 1, 2, 4 ... values, at most {@value #BUCKETS} of a size. Where the older and the newer
 * part of the window have means that chance does not explain, the older is dropped. An alarm is a
 * window, cut or long enough, whose mean is beyond {@value DriftDetector#ALLOWANCE}: a smaller
 * shift is followed and is no alarm.
 */
final class Adwin implements DriftDetector {
  /** As in the paper's experiments. */
  private static final int BUCKETS = 5;

  /** Sizes up to 2^9: some 5,000 values; older ones are forgotten. */
  private static final int ROWS = 10;

  /** How likely a cut without a change may be; the value of the authors' implementation (MOA). */
  private static final double CONFIDENCE = 0.002;

  /** As in MOA: fewer values are too few for a part of a window. */
  private static final int LEAST_PART = 5;

  /** Sums of values and of their squares, the newest bucket first, by size. */
  private final List<Deque<double[]>> rows = new ArrayList<>();

  private long count;
  private double sum;
  private double squares;

  Adwin() {
    for (int row = 0; row < ROWS; row++) {
      rows.add(new ArrayDeque<>());
    }
  }

  @Override
  public boolean add(double deviation) {
    rows.get(0).addFirst(new double[] {deviation, deviation * deviation});
    count++;
    sum += deviation;
    squares += deviation * deviation;
    compress();
    boolean cut = false;
    while (differs()) {
      dropOldest();
      cut = true;
    }
    return (cut || count >= Calibration.SAMPLES) && Math.abs(sum / count) > ALLOWANCE;
  }

  private void compress() {
    for (int row = 0; rows.get(row).size() > BUCKETS; row++) {
      if (row == ROWS - 1) {
        dropOldest();
        return;
      }
      double[] oldest = rows.get(row).removeLast();
      double[] next = rows.get(row).removeLast();
      rows.get(row + 1).addFirst(new double[] {oldest[0] + next[0], oldest[1] + next[1]});
    }
  }

  private void dropOldest() {
    for (int row = ROWS - 1; row >= 0; row--) {
      if (!rows.get(row).isEmpty()) {
        double[] oldest = rows.get(row).removeLast();
        count -= 1L << row;
        sum -= oldest[0];
        squares -= oldest[1];
        return;
      }
    }
  }

  /** Returns whether there is a bucket before which the mean is another than after it. */
  private boolean differs() {
    double mean = sum / count;
    double variance = Math.max(0, squares / count - mean * mean);
    double logarithm = StrictMath.log(2 * StrictMath.log((double) count) / CONFIDENCE);
    long newer = 0;
    double newerSum = 0;
    for (int row = 0; row < ROWS; row++) {
      for (Iterator<double[]> it = rows.get(row).iterator(); it.hasNext(); ) {
        newer += 1L << row;
        newerSum += it.next()[0];
        long older = count - newer;
        if (newer >= LEAST_PART && older >= LEAST_PART) {
          double inverse = 1.0 / newer + 1.0 / older;
          // The paper's bound for values within [0, 1]; these are within [-LIMIT, LIMIT].
          double bound =
              StrictMath.sqrt(2 * inverse * variance * logarithm)
                  + 2.0 / 3 * inverse * logarithm * 2 * LIMIT;
          if (Math.abs(newerSum / newer - (sum - newerSum) / older) > bound) {
            return true;
          }
        }
      }
    }
    return false;
  }
}
