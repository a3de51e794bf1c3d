package io.shardtide.growth;

import io.shardtide.cost.Medians;
import java.util.Arrays;
import java.util.Optional;

/**
 * How wrong forecasts of a table would have been: from each past day on, its later growth is
 * forecast from what was known then. The range of the errors is the uncertainty of a forecast of
 * today (split conformal prediction: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random
 * World, 2005). It has the weekdays, trends and bursts that the table had, and no assumption about
 * their distribution.
 */
final class PastErrors {
  /** Forecasts of fewer days than these are not tried. */
  private static final int LEAST_KNOWN = DailyGrowth.WEEK;

  /** With fewer errors, their range says little. */
  private static final int LEAST_ERRORS = 8;

  private static final double LOW = 0.05;
  private static final double HIGH = 0.95;

  /**
   * How far few errors are from the extremes, in distances from the median: with it, 90% ranges of
   * a simulated year hold in 90 to 95% of cases ({@code GrowthYearTest}, seeds 1 to 4).
   */
  static final double EXTREMES = 2.5;

  private final double[] days;
  private final DailyGrowth[] fits;
  private final double[] scales;

  /**
   * @param days ids that each day added
   * @param lastWeekday weekday of the last one
   */
  PastErrors(double[] days, int lastWeekday) {
    this.days = days;
    int n = days.length;
    fits = DailyGrowth.ofEach(days, lastWeekday, LEAST_KNOWN);
    scales = new double[n + 1];
    for (int known = LEAST_KNOWN; known <= n; known++) {
      // Errors grow with the table's growth.
      double[] sizes =
          Arrays.stream(days, Math.max(0, known - DailyGrowth.TREND_DAYS), known)
              .map(Math::abs)
              .toArray();
      scales[known] = Math.max(1, Medians.of(sizes));
    }
  }

  /**
   * Returns the errors, actual growth less forecast, that forecasts have.
   *
   * @param ahead days that are forecast
   * @return their range; empty if too few such forecasts can be compared
   */
  Optional<Range> range(int ahead) {
    int n = days.length;
    int count = n - ahead - LEAST_KNOWN + 1;
    if (count < LEAST_ERRORS) {
      return Optional.empty();
    }
    double[] errors = new double[count];
    for (int known = LEAST_KNOWN; known + ahead <= n; known++) {
      double actual = Arrays.stream(days, known, known + ahead).sum();
      errors[known - LEAST_KNOWN] = (actual - fits[known].next(ahead)) / scales[known];
    }
    Arrays.sort(errors);
    // Errors of overlapping days are alike: so many of them are independent.
    double independent = Math.max(1, (double) (count + ahead - 1) / ahead);
    double now = scales[n];
    return Optional.of(
        new Range(
            now * quantile(errors, LOW, independent),
            now * Medians.of(errors),
            now * quantile(errors, HIGH, independent)));
  }

  /**
   * Returns a quantile of errors. Few independent errors do not show the extremes: what the
   * quantile of so many is short of is added in proportion to its distance from the median.
   */
  private static double quantile(double[] sorted, double share, double independent) {
    // Of n errors and the next one, each place in their order is as likely: so many are below it.
    double position = Math.max(0, Math.min(sorted.length - 1, share * (sorted.length + 1) - 1));
    int below = (int) position;
    int above = Math.min(below + 1, sorted.length - 1);
    double value = sorted[below] + (position - below) * (sorted[above] - sorted[below]);
    double median = sorted[sorted.length / 2];
    return value + EXTREMES * (value - median) / independent;
  }
}
