package io.shardtide.growth;

import java.util.Optional;

/** What has to be added to the expected growth of a table, by horizon: its bias and its range. */
final class ErrorRanges {
  /** Days at which past errors are compared; ranges between them are interpolated. */
  private static final int[] HORIZONS = {1, 2, 4, 7, 14, 28, 42};

  /** Before errors can be compared, growth may stop or be so many times as fast. */
  private static final double UNKNOWN_FACTOR = 3;

  private final Range[] ranges = new Range[HORIZONS.length];

  /**
   * @param days ids that each day added
   * @param lastWeekday weekday of the last one
   * @param growth what is expected of the next days
   */
  ErrorRanges(double[] days, int lastWeekday, DailyGrowth growth) {
    PastErrors errors = new PastErrors(days, lastWeekday);
    for (int h = 0; h < HORIZONS.length; h++) {
      Optional<Range> range = errors.range(HORIZONS[h]);
      if (range.isPresent()) {
        ranges[h] = range.get();
      } else if (h > 0) {
        // An error of the trend grows with the horizon.
        ranges[h] = ranges[h - 1].times((double) HORIZONS[h] / HORIZONS[h - 1]);
      } else {
        double expected = Math.abs(growth.on(1));
        ranges[h] = new Range(-expected, 0, (UNKNOWN_FACTOR - 1) * expected);
      }
    }
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
