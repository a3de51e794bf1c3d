package io.shardtide.cost.tensorflow;

import java.util.Arrays;

/**
 * Robust statistics of {@code ln(measured / predicted)}.
 *
 * @param median the median
 * @param spread 1.4826 times the median absolute deviation, the standard deviation of normal values
 *     (Rousseeuw and Croux, JASA 1993)
 */
record LogRatio(double median, double spread) {
  /**
   * Maximum spread of a change that applies to all costs, as a share of its median. A change of
   * some shards spreads over devices by their share of these shards, up to the size of the change.
   */
  private static final double MAX_SPREAD = 1.0 / 3;

  /** Returns the statistics of costs; zeros if there are none. */
  static LogRatio of(float[] measured, float[] predicted) {
    double[] logarithms = new double[measured.length];
    for (int i = 0; i < logarithms.length; i++) {
      logarithms[i] = StrictMath.log((double) measured[i] / predicted[i]);
    }
    double median = median(logarithms);
    return new LogRatio(
        median,
        1.4826 * median(Arrays.stream(logarithms).map(l -> Math.abs(l - median)).toArray()));
  }

  private static double median(double[] values) {
    if (values.length == 0) {
      return 0;
    }
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  /** Returns the factor by which all costs changed, or 1 if they did not change uniformly. */
  double commonFactor() {
    return spread < MAX_SPREAD * Math.abs(median) ? StrictMath.exp(median) : 1;
  }
}
