package io.shardtide.growth;

import java.util.Arrays;
import java.util.List;

/**
 * Forecasts how many ids a table will have.
 *
 * <p>The forecast of a day is {@link DailyGrowth}, spread over its hours as the hours of the last
 * week were; its range is that of {@link PastErrors}. If the latest reports show much faster growth
 * than the range allows, that is a {@link Burst}.
 */
public final class Forecaster {
  private static final int HOURS = Forecast.HOURS;

  private Forecaster() {}

  /**
   * Forecasts a table.
   *
   * @param history what was reported
   * @param idsPerDay growth as the table's publisher describes it, used until a whole day was
   *     reported; 0 if unknown
   */
  public static Forecast forecast(FillHistory history, double idsPerDay) {
    long now = history.last().atMs();
    double[] days = history.days().stream().mapToDouble(d -> d).toArray();
    int weekday = Math.floorMod(Math.floorDiv(now, FillHistory.DAY_MS) - 1, DailyGrowth.WEEK);
    DailyGrowth growth =
        days.length > 0 ? DailyGrowth.of(days, weekday) : DailyGrowth.of(idsPerDay);
    double[] rates = new double[Forecast.MOST_DAYS + 2];
    Arrays.setAll(rates, growth::on);
    double[] profile = profile(history.hours(), now);
    ErrorRanges errors = ErrorRanges.of(days, weekday, growth);
    Burst burst = Burst.of(history, since -> between(rates, profile, now, since, now), errors);
    double[] expected = new double[Forecast.MOST_DAYS * HOURS];
    double added = 0;
    for (int hour = 0; hour < expected.length; hour++) {
      long from = now + hour * FillHistory.HOUR_MS;
      added += between(rates, profile, now, from, from + FillHistory.HOUR_MS);
      expected[hour] = added;
    }
    return new Forecast(history.last(), expected, errors, burst);
  }

  /** Returns the share of a day's growth that each hour (UTC) has; even without two days. */
  private static double[] profile(List<Double> hours, long now) {
    double[] sums = new double[HOURS];
    int whole = hours.size() / HOURS * HOURS;
    int lastHour = (int) Math.floorMod(Math.floorDiv(now, FillHistory.HOUR_MS) - 1, (long) HOURS);
    for (int back = 0; back < whole; back++) {
      sums[Math.floorMod(lastHour - back, HOURS)] += hours.get(hours.size() - 1 - back);
    }
    double sum = Arrays.stream(sums).sum();
    boolean isKnown =
        whole >= 2 * HOURS && sum > 0 && Arrays.stream(sums).allMatch(hour -> hour >= 0);
    double[] shares = new double[HOURS];
    for (int hour = 0; hour < HOURS; hour++) {
      shares[hour] = isKnown ? sums[hour] / sum : 1.0 / HOURS;
    }
    return shares;
  }

  /**
   * Returns the expected growth from one time to another.
   *
   * @param rates of each day; the first entry is of yesterday
   */
  private static double between(double[] rates, double[] profile, long now, long from, long to) {
    double sum = 0;
    for (long at = from; at < to; ) {
      long end = Math.min(to, (Math.floorDiv(at, FillHistory.HOUR_MS) + 1) * FillHistory.HOUR_MS);
      int day =
          (int) (Math.floorDiv(at, FillHistory.DAY_MS) - Math.floorDiv(now, FillHistory.DAY_MS));
      int hour = (int) Math.floorMod(Math.floorDiv(at, FillHistory.HOUR_MS), (long) HOURS);
      sum += rates[day + 1] * profile[hour] * (end - at) / FillHistory.HOUR_MS;
      at = end;
    }
    return sum;
  }
}
