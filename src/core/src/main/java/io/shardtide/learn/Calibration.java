package io.shardtide.learn;

import io.shardtide.cost.Medians;
import io.shardtide.state.Baseline;
import java.util.List;

/** Estimates the baseline of a residual series and normalizes residuals by it. */
final class Calibration {
  /**
   * Residuals that a baseline is estimated from. The median of 30 has a standard error of 0.23
   * standard deviations of the noise ({@code 1.2533 / sqrt(30)}), a twelfth of the minimum shift.
   */
  static final int SAMPLES = 30;

  /**
   * Standard deviation of normal noise over its median absolute deviation (Rousseeuw and Croux,
   * JASA 1993).
   */
  private static final double MAD_TO_SIGMA = 1.4826;

  /**
   * Maximum unit, in minimum shifts. It bounds how far noise during the calibration can desensitize
   * a detector: to a sixth.
   */
  private static final double MAX_UNIT = 2;

  private Calibration() {}

  /** Returns the baseline of a series from its first residuals. */
  static Baseline of(List<? extends Number> residuals) {
    double center = median(residuals);
    double[] distances =
        residuals.stream().mapToDouble(r -> Math.abs(r.doubleValue() - center)).toArray();
    return new Baseline(center, MAD_TO_SIGMA * Medians.of(distances));
  }

  static double median(List<? extends Number> residuals) {
    return Medians.of(residuals.stream().mapToDouble(Number::doubleValue).toArray());
  }

  /**
   * Returns the distance of a residual from the baseline, in the units of {@link PageHinkley}. The
   * unit is the noise, but at least {@code minShift / }{@value PageHinkley#MIN_SHIFT}, so that a
   * series with little noise raises no alarm for a shift below {@code minShift}.
   *
   * @param minShift smallest shift that should raise an alarm, as a logarithm
   */
  static double deviation(Baseline baseline, double residual, double minShift) {
    double unit =
        Math.min(Math.max(baseline.noise(), minShift / PageHinkley.MIN_SHIFT), minShift * MAX_UNIT);
    double deviation = (residual - baseline.center()) / unit;
    return Math.max(-PageHinkley.MAX_DEVIATION, Math.min(PageHinkley.MAX_DEVIATION, deviation));
  }
}
