package io.shardtide.growth;

import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Ranges of days as people read them. */
public final class DayTexts {
  private DayTexts() {}

  /**
   * Returns a range: {@code 3.2 days (2.6 to 4.1)}, {@code 20 seconds at the earliest} if it is
   * above half a year in most cases.
   */
  public static String of(Range days) {
    if (days.median() > Forecast.MOST_DAYS) {
      TimeUnit unit = unit(days.low());
      return number(days.low(), unit) + " " + name(unit) + " at the earliest";
    }
    TimeUnit unit = unit(days.median());
    return "%s %s (%s to %s)"
        .formatted(
            number(days.median(), unit),
            name(unit),
            number(days.low(), unit),
            days.high() > Forecast.MOST_DAYS
                ? "more than %s days".formatted(Forecast.MOST_DAYS)
                : number(days.high(), unit));
  }

  /** Returns the largest unit of which there are at least two. */
  private static TimeUnit unit(double days) {
    return Stream.of(TimeUnit.DAYS, TimeUnit.HOURS, TimeUnit.MINUTES)
        .filter(unit -> days >= 2.0 * unit.toSeconds(1) / TimeUnit.DAYS.toSeconds(1))
        .findFirst()
        .orElse(days == 0 ? TimeUnit.DAYS : TimeUnit.SECONDS);
  }

  private static String name(TimeUnit unit) {
    return unit.name().toLowerCase(Locale.ROOT);
  }

  private static String number(double days, TimeUnit unit) {
    double units = days * TimeUnit.DAYS.toSeconds(1) / unit.toSeconds(1);
    return String.format(Locale.ROOT, units < 10 ? "%.1f" : "%.0f", units);
  }
}
