package io.shardtide.bench.service;

import java.util.Arrays;

/** Measured values; all are kept, so that quantiles are exact. */
final class LatencySample {
  private double[] values = new double[256];
  private int count;

  synchronized void add(double value) {
    if (count == values.length) {
      values = Arrays.copyOf(values, 2 * count);
    }
    values[count++] = value;
  }

  synchronized int count() {
    return count;
  }

  synchronized double mean() {
    return Arrays.stream(values, 0, count).average().orElse(Double.NaN);
  }

  /**
   * Returns a quantile.
   *
   * @param share above 0 to 1; 0.5 for the median
   */
  synchronized double quantile(double share) {
    if (count == 0) {
      return Double.NaN;
    }
    double[] sorted = Arrays.copyOf(values, count);
    Arrays.sort(sorted);
    return sorted[(int) Math.ceil(share * count) - 1];
  }
}
