package io.shardtide.learning;

import java.util.List;

/**
 * The band in which the logarithms of measured over predicted costs of a group lie; what is outside
 * is taken for its edge (winsorised), so that no label counts for more than the group's word.
 *
 * @param low lower edge
 * @param high upper edge
 */
record ResidualBand(double low, double high) {
  /** Half the width in standard deviations: normal noise is outside of it once in 370 times. */
  private static final double DEVIATIONS = 3;

  /**
   * Half the width at least: a factor of 2, so that a part of the shards may become twice as dear
   * while the rest, and with it the median, stays as it was.
   */
  private static final double LEAST = StrictMath.log(2);

  /** The deviation of normal noise from its median absolute deviation (Rousseeuw, Croux 1993). */
  private static final double CONSISTENT = 1.4826;

  /** Returns the band of some logarithms; that around 0 of none. */
  static ResidualBand of(List<Double> logarithms) {
    double median = median(logarithms);
    double deviation =
        CONSISTENT * median(logarithms.stream().map(l -> Math.abs(l - median)).toList());
    double reach = Math.max(LEAST, DEVIATIONS * deviation);
    return new ResidualBand(median - reach, median + reach);
  }

  private static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    int middle = sorted.size() / 2;
    if (sorted.isEmpty()) {
      return 0;
    }
    return sorted.size() % 2 == 1
        ? sorted.get(middle)
        : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
  }

  /** Returns a measured cost, within the band around what was predicted. */
  double winsorised(double measuredMs, double predictedMs) {
    double logarithm = StrictMath.log(measuredMs / predictedMs);
    return logarithm < low
        ? predictedMs * StrictMath.exp(low)
        : logarithm > high ? predictedMs * StrictMath.exp(high) : measuredMs;
  }
}
