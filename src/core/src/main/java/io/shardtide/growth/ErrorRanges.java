package io.shardtide.growth;

import java.util.Arrays;

/** What has to be added to the expected growth of a table, by horizon: its bias and its range. */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
record ErrorRanges(Range[] ranges) {
  /** Days at which past errors are compared; ranges between them are interpolated. */
  private static final int[] HORIZONS = {1, 2, 4, 7, 14, 28, 42};

  /** Before a week is known, growth may stop or be so many times as fast. */
  private static final double UNKNOWN_FACTOR = 3;

  /**
   * @param days ids that each day added
   * @param lastWeekday weekday of the last one
   * @param growth what is expected of the next days
   */
  static ErrorRanges of(double[] days, int lastWeekday, DailyGrowth growth) {
    Range[] ranges = new Range[HORIZONS.length];
    PastErrors errors = new PastErrors(days, lastWeekday);
    for (int h = 0; h < HORIZONS.length; h++) {
      Range other = h > 0 ? extended(ranges[h - 1], h, growth) : ofDays(days, growth.on(1));
      ranges[h] = errors.range(HORIZONS[h]).orElse(other);
    }
    return new ErrorRanges(ranges);
  }

  /** Returns those of a table that grows so many times as fast. */
  ErrorRanges times(double factor) {
    return new ErrorRanges(
        Arrays.stream(ranges).map(range -> range.times(factor)).toArray(Range[]::new));
  }

  /**
   * Returns the range of a horizon at which no past forecast can be compared yet, from the one
   * before: errors last, and the trend may be none, or twice what it seems.
   */
  private static Range extended(Range before, int h, DailyGrowth growth) {
    double factor = (double) HORIZONS[h] / HORIZONS[h - 1];
    double trend = Math.abs(growth.ofTrend(HORIZONS[h]));
    double trendBefore = Math.abs(growth.ofTrend(HORIZONS[h - 1]));
    double more = Math.max(0, trend - factor * trendBefore);
    return before.times(factor).plus(new Range(-more, 0, more));
  }

  /** Returns how wrong a forecast of a day may be, before past forecasts can be compared. */
  private static Range ofDays(double[] days, double expected) {
    if (days.length < DailyGrowth.WEEK) {
      double size = Math.abs(expected);
      return new Range(-size, 0, (UNKNOWN_FACTOR - 1) * size);
    }
    // All days of a week are known: the next days are about within their extremes.
    double least = Arrays.stream(days).min().orElseThrow() - expected;
    double most = Arrays.stream(days).max().orElseThrow() - expected;
    return new Range(Math.min(0, least), 0, Math.max(0, most))
        .times(1 + PastErrors.EXTREMES / days.length);
  }

  /** Returns the range after so many days, which need not be whole. */
  Range in(double days) {
    if (days <= HORIZONS[0]) {
      // As of a sum of independent hours.
      return ranges[0].times(Math.sqrt(days / HORIZONS[0]));
    }
    for (int h = 1; h < HORIZONS.length; h++) {
      if (days <= HORIZONS[h]) {
        double share = (days - HORIZONS[h - 1]) / (HORIZONS[h] - HORIZONS[h - 1]);
        return ranges[h - 1].times(1 - share).plus(ranges[h].times(share));
      }
    }
    int last = HORIZONS.length - 1;
    return ranges[last].times(days / HORIZONS[last]);
  }
}
