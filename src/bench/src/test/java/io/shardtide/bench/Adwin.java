package io.shardtide.bench;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;

/**
 * Adaptive windowing (ADWIN2; Bifet and Gavalda, SDM 2007). The window is an exponential histogram:
 * buckets of 1, 2, 4 ... values, at most {@value #BUCKETS_PER_SIZE} of each size. When the means of
 * its older and newer part differ significantly, the older part is dropped. The alarm is raised
 * when the window was cut or is long enough, and its mean exceeds {@value DriftDetector#ALLOWANCE}:
 * smaller shifts are tracked without an alarm.
 */
final class Adwin implements DriftDetector {
  /** The value of the paper's experiments. */
  private static final int BUCKETS_PER_SIZE = 5;

  /** Bucket sizes up to 2^9, about 5,000 values; older values are dropped. */
  private static final int SIZES = 10;

  /** Probability of a cut without a change; the default of the authors' implementation (MOA). */
  private static final double CONFIDENCE = 0.002;

  /** Minimum length of each part of the window, as in MOA. */
  private static final int MIN_PART = 5;

  /** As many as the residuals that a baseline is estimated from. */
  private static final int MIN_ALONE = 30;

  /** By size: sum and sum of squares of each bucket, the newest bucket first. */
  private final List<Deque<double[]>> buckets = new ArrayList<>();

  private long count;
  private double sum;
  private double squares;

  Adwin() {
    for (int size = 0; size < SIZES; size++) {
      buckets.add(new ArrayDeque<>());
    }
  }

  @Override
  public boolean add(double deviation) {
    buckets.get(0).addFirst(new double[] {deviation, deviation * deviation});
    count++;
    sum += deviation;
    squares += deviation * deviation;
    compress();
    boolean cut = false;
    while (hasSignificantCut()) {
      dropOldest();
      cut = true;
    }
    return (cut || count >= MIN_ALONE) && Math.abs(sum / count) > ALLOWANCE;
  }

  private void compress() {
    for (int size = 0; buckets.get(size).size() > BUCKETS_PER_SIZE; size++) {
      if (size == SIZES - 1) {
        dropOldest();
        return;
      }
      double[] oldest = buckets.get(size).removeLast();
      double[] next = buckets.get(size).removeLast();
      buckets.get(size + 1).addFirst(new double[] {oldest[0] + next[0], oldest[1] + next[1]});
    }
  }

  private void dropOldest() {
    for (int size = SIZES - 1; size >= 0; size--) {
      if (!buckets.get(size).isEmpty()) {
        double[] oldest = buckets.get(size).removeLast();
        count -= 1L << size;
        sum -= oldest[0];
        squares -= oldest[1];
        return;
      }
    }
  }

  /** Returns whether the means before and after some bucket boundary differ significantly. */
  private boolean hasSignificantCut() {
    double mean = sum / count;
    double variance = Math.max(0, squares / count - mean * mean);
    double logarithm = StrictMath.log(2 * StrictMath.log((double) count) / CONFIDENCE);
    long newer = 0;
    double newerSum = 0;
    for (int size = 0; size < SIZES; size++) {
      for (Iterator<double[]> it = buckets.get(size).iterator(); it.hasNext(); ) {
        newer += 1L << size;
        newerSum += it.next()[0];
        long older = count - newer;
        if (newer >= MIN_PART && older >= MIN_PART) {
          double inverse = 1.0 / newer + 1.0 / older;
          // The paper's bound for values in [0, 1], scaled to [-MAX_DEVIATION, MAX_DEVIATION].
          double bound =
              StrictMath.sqrt(2 * inverse * variance * logarithm)
                  + 2.0 / 3 * inverse * logarithm * 2 * MAX_DEVIATION;
          if (Math.abs(newerSum / newer - (sum - newerSum) / older) > bound) {
            return true;
          }
        }
      }
    }
    return false;
  }
}
