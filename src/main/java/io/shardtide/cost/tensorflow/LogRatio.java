package io.shardtide.cost.tensorflow;

import java.util.Arrays;

/**
 * How far measured costs are from predicted ones, as the logarithm of their ratio.
 *
 * @param median median of {@code ln(measured / predicted)}
 * @param spread 1.4826 times the median distance from it, which is the standard deviation where the
 *     logarithms are normal (Rousseeuw and Croux, JASA 1993)
 */
record LogRatio(double median, double spread) {
  /**
   * A change is the same for all if its spread is below this share of it. A change of a part of the
   * shards spreads over devices as their shares of it do, up to its own size.
   */
  private static final double UNIFORM = 1.0 / 3;

  /** Returns the level of some costs; 0 and 0 of none. */
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

  /**
   * Returns what costs that nobody measured are to be multiplied with: what was measured changed
   * by, if all of it changed alike, and 1 otherwise.
   */
  double factor() {
    return spread < UNIFORM * Math.abs(median) ? StrictMath.exp(median) : 1;
  }
}
