package io.shardtide.learning;

import io.shardtide.domain.Baseline;
import java.util.List;
import org.hipparchus.stat.descriptive.rank.Median;

/** Learns where residuals usually lie, and counts how far one is from there. */
final class Calibration {
  /**
   * Residuals that a baseline is learned from. The median of 30 has a standard error of 0.23 times
   * their noise ({@code 1.2533 / sqrt(30)}), a twelfth of the least shift.
   */
  static final int SAMPLES = 30;

  /** Of normal noise, the median absolute deviation times this is the standard deviation. */
  private static final double NORMAL = 1.4826;

  /**
   * The largest unit, in least shifts: who sends noise while a baseline is learned makes a detector
   * six times as deaf as it could be, and no deafer.
   */
  private static final double MAX_UNIT = 2;

  private Calibration() {}

  /** Returns the baseline of the first residuals of a series. */
  static Baseline of(List<Float> residuals) {
    double center = median(residuals);
    return new Baseline(
        center,
        NORMAL
            * new Median()
                .evaluate(residuals.stream().mapToDouble(r -> Math.abs(r - center)).toArray()));
  }

  static double median(List<Float> residuals) {
    return new Median().evaluate(residuals.stream().mapToDouble(Float::doubleValue).toArray());
  }

  /**
   * Returns how far a residual is from the usual, as {@link DriftDetector} takes it. The unit is
   * the noise, but at least so much that {@value DriftDetector#LEAST_SHIFT} units are the least
   * shift worth an alarm: however quiet a series is, nothing smaller is worth one.
   */
  static double deviation(Baseline baseline, double residual, double leastShift) {
    double unit =
        Math.min(
            Math.max(baseline.noise(), leastShift / DriftDetector.LEAST_SHIFT),
            leastShift * MAX_UNIT);
    double deviation = (residual - baseline.center()) / unit;
    return Math.max(-DriftDetector.LIMIT, Math.min(DriftDetector.LIMIT, deviation));
  }
}
