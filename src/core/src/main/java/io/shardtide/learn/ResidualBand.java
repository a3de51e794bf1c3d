package io.shardtide.learn;

import io.shardtide.state.Baseline;
import java.util.List;

/**
 * The band of ln(measured / predicted) to which the labels of a group of samples are winsorized:
 * clipped, so that the influence of any single label is bounded.
 *
 * @param low lower edge
 * @param high upper edge
 */
record ResidualBand(double low, double high) {
  /** Half the width in standard deviations: one value of normal noise in 370 lies outside. */
  private static final double DEVIATIONS = 3;

  /**
   * Minimum half width, a factor of 2. A part of the shards may become twice as expensive while the
   * others, and with them the median, do not change.
   */
  private static final double MIN_HALF_WIDTH = StrictMath.log(2);

  /** Returns the band of a group's log ratios; the minimum band around 0 if there are none. */
  static ResidualBand of(List<Double> logRatios) {
    Baseline usual = logRatios.isEmpty() ? new Baseline(0, 0) : Calibration.of(logRatios);
    double halfWidth = Math.max(MIN_HALF_WIDTH, DEVIATIONS * usual.noise());
    return new ResidualBand(usual.center() - halfWidth, usual.center() + halfWidth);
  }

  /** Returns a measured cost clipped to the band around its prediction, in milliseconds. */
  double winsorize(double measuredMs, double predictedMs) {
    double logRatio = StrictMath.log(measuredMs / predictedMs);
    return logRatio < low
        ? predictedMs * StrictMath.exp(low)
        : logRatio > high ? predictedMs * StrictMath.exp(high) : measuredMs;
  }
}
