package io.shardtide.growth;

import io.shardtide.cost.Medians;
import java.util.Arrays;

/**
 * The growth of a table by day: a level with a damped trend, times a factor for each day of the
 * week. All are medians, so that a burst of some days changes none of them much.
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
record DailyGrowth(double level, double slope, double[] weekdays, int lastWeekday) {
  static final int WEEK = 7;

  /** Days that say how a table grows now: four weeks. */
  static final int TREND_DAYS = 28;

  /** With fewer days, no factor of a weekday has two observations, and a trend would be noise. */
  private static final int LEAST_DAYS = 14;

  /**
   * A day's trend continues with this share on the next day, so that it adds at most 19 times a
   * day's change. Gardner and McKenzie (Forecasting Trends in Time Series, Management Science 1985)
   * found damped trends better than linear ones at all horizons.
   */
  private static final double DAMPING = 0.95;

  /** How many times a day's change is added after so many days. */
  private static final double[] TRENDS = trends();

  /** Factors of weekdays beyond these are of days with next to no growth. */
  private static final double LEAST_FACTOR = 0.1;

  private static final double MOST_FACTOR = 10;

  /**
   * Estimates the growth.
   *
   * @param days ids that each day added, at least one day
   * @param lastWeekday weekday of the last one, 0 to 6
   */
  static DailyGrowth of(double[] days, int lastWeekday) {
    return of(days, weekSums(days), lastWeekday);
  }

  /**
   * Estimates the growth as it was known after each day: entry {@code n} from the first {@code n}
   * days.
   *
   * @param days ids that each day added
   * @param lastWeekday weekday of the last one, 0 to 6
   * @param least days of the first estimate, 1 or more; entries before are null
   */
  static DailyGrowth[] ofEach(double[] days, int lastWeekday, int least) {
    double[] weekSums = weekSums(days);
    DailyGrowth[] each = new DailyGrowth[days.length + 1];
    for (int known = least; known <= days.length; known++) {
      int weekday = Math.floorMod(lastWeekday - (days.length - known), WEEK);
      each[known] = of(Arrays.copyOf(days, known), weekSums, weekday);
    }
    return each;
  }

  /** Returns the sums of all weeks, by their first days. */
  private static double[] weekSums(double[] days) {
    double[] sums = new double[Math.max(0, days.length - WEEK + 1)];
    Arrays.setAll(sums, from -> Arrays.stream(days, from, from + WEEK).sum());
    return sums;
  }

  /**
   * @param weekSums of these days, and maybe of later ones
   */
  private static DailyGrowth of(double[] days, double[] weekSums, int lastWeekday) {
    int n = days.length;
    double[] weekdays = n < LEAST_DAYS ? none() : weekdays(days, weekSums, lastWeekday);
    double[] adjusted = new double[n];
    for (int day = 0; day < n; day++) {
      adjusted[day] = days[day] / weekdays[Math.floorMod(lastWeekday - (n - 1 - day), WEEK)];
    }
    double[] week = Arrays.copyOfRange(adjusted, Math.max(0, n - WEEK), n);
    double slope = 0;
    if (n >= LEAST_DAYS) {
      double[] latest = Arrays.copyOfRange(adjusted, Math.max(0, n - TREND_DAYS), n);
      double[] numbers = new double[latest.length];
      Arrays.setAll(numbers, day -> day);
      slope = Medians.slope(numbers, latest);
    }
    // The median of a week is that of its middle.
    double level = Medians.of(week) + slope * (week.length - 1) / 2;
    return new DailyGrowth(level, slope, weekdays, lastWeekday);
  }

  /** Growth of which only a mean is known. */
  static DailyGrowth of(double idsPerDay) {
    return new DailyGrowth(idsPerDay, 0, none(), 0);
  }

  private static double[] trends() {
    double[] trends = new double[Forecast.MOST_DAYS + 2];
    Arrays.setAll(trends, day -> DAMPING * (1 - StrictMath.pow(DAMPING, day)) / (1 - DAMPING));
    return trends;
  }

  private static double[] none() {
    double[] ones = new double[WEEK];
    Arrays.fill(ones, 1);
    return ones;
  }

  /** Returns the median ratio of each weekday to the mean of the week around it; 1 on average. */
  private static double[] weekdays(double[] days, double[] weekSums, int lastWeekday) {
    int n = days.length;
    double[][] ratios = new double[WEEK][n];
    int[] counts = new int[WEEK];
    for (int day = 0; day < n; day++) {
      int from = Math.max(0, Math.min(n - WEEK, day - WEEK / 2));
      double mean = weekSums[from] / WEEK;
      if (mean > 0) {
        int weekday = Math.floorMod(lastWeekday - (n - 1 - day), WEEK);
        ratios[weekday][counts[weekday]++] = days[day] / mean;
      }
    }
    double[] factors = new double[WEEK];
    for (int weekday = 0; weekday < WEEK; weekday++) {
      double ratio =
          counts[weekday] < 2 ? 1 : Medians.of(Arrays.copyOf(ratios[weekday], counts[weekday]));
      factors[weekday] = Math.max(LEAST_FACTOR, Math.min(MOST_FACTOR, ratio));
    }
    double mean = Arrays.stream(factors).sum() / WEEK;
    return Arrays.stream(factors).map(factor -> factor / mean).toArray();
  }

  /**
   * Returns how many ids a day adds.
   *
   * @param daysAhead 0 for the last one, 1 for the day after it; at most one above {@link
   *     Forecast#MOST_DAYS}
   */
  double on(int daysAhead) {
    double trend = slope * TRENDS[daysAhead];
    // A trend does not turn growth into shrinking, or the reverse.
    double rate = level >= 0 ? Math.max(0, level + trend) : Math.min(0, level + trend);
    return rate * weekdays[Math.floorMod(lastWeekday + daysAhead, WEEK)];
  }

  /** Returns how many of the ids that the next days add are of the trend; below 0 if it falls. */
  double ofTrend(int days) {
    double sum = 0;
    for (int day = 1; day <= days; day++) {
      sum += on(day) - level * weekdays[Math.floorMod(lastWeekday + day, WEEK)];
    }
    return sum;
  }

  /** Returns how many ids the next days add together. */
  double next(int days) {
    double sum = 0;
    for (int day = 1; day <= days; day++) {
      sum += on(day);
    }
    return sum;
  }
}
