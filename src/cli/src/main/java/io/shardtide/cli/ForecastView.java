package io.shardtide.cli;

import io.shardtide.growth.DayTexts;
import io.shardtide.growth.Range;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import java.math.BigDecimal;
import java.math.MathContext;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.Locale;

/** Forecasts of hashed tables as text: a row a table, and a sentence where memory ends. */
final class ForecastView {
  private static final int WIDTH = 100;

  /** Below, a forecast is shown to the id; from here on, with {@link #DIGITS}. */
  private static final double ROUNDED_FROM = 100_000;

  private static final MathContext DIGITS = new MathContext(3);

  /** Powers of a thousand: a thousand, a million, a billion (10^9), a trillion (10^12). */
  private static final String[] UNITS = {"K", "M", "B", "T"};

  /** Digits of a thousand's zeros. */
  private static final int ZEROS = 3;

  private ForecastView() {}

  /**
   * Returns the forecasts of workloads, in the order given.
   *
   * @param workloads the latest forecasts of each
   */
  static String text(Collection<TableForecasts> workloads) {
    TextTable table =
        new TextTable(
            "workload",
            "table",
            " ids",
            " slots",
            " fill",
            "ids in a day",
            "in 7 days",
            "in 28 days",
            "full in",
            " resized to",
            "reported");
    for (TableForecasts forecasts : workloads) {
      for (TableForecast forecast : forecasts.tables()) {
        table.add(
            forecasts.workloadId(),
            forecast.table(),
            exactly(forecast.ids()),
            exactly(forecast.slots()),
            String.format(Locale.ROOT, "%.1f%%", 100.0 * forecast.ids() / forecast.slots()),
            range(forecast.inDay()),
            range(forecast.inWeek()),
            range(forecast.inFourWeeks()),
            forecast.daysUntilFull().map(DayTexts::of).orElse("not expected"),
            resizedTo(forecasts, forecast),
            forecasts.measuredAt().truncatedTo(ChronoUnit.SECONDS).toString());
      }
    }
    StringBuilder text = new StringBuilder(table.toString());
    for (TableForecasts forecasts : workloads) {
      forecasts
          .memoryEnd()
          .ifPresent(
              end ->
                  TextLines.wrap(
                          Printable.of(forecasts.workloadId() + ": " + end.describe()), WIDTH)
                      .forEach(line -> text.append(line).append('\n')));
    }
    return text.toString();
  }

  /** Returns the slots that the planner gave a table and that no report has yet; else nothing. */
  private static String resizedTo(TableForecasts forecasts, TableForecast forecast) {
    long given = forecasts.slotsGiven(forecast);
    return given == forecast.slots() ? "" : exactly(given);
  }

  private static String exactly(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  private static String range(Range ids) {
    return "%s (%s to %s)".formatted(about(ids.median()), about(ids.low()), about(ids.high()));
  }

  /** Returns a number of ids: {@code 99,712}, then three digits, {@code 1.24M}. */
  static String about(double ids) {
    if (Math.rint(ids) < ROUNDED_FROM) {
      return String.format(Locale.ROOT, "%,.0f", ids);
    }
    BigDecimal rounded = new BigDecimal(ids).round(DIGITS);
    int power = rounded.precision() - rounded.scale() - 1;
    int unit = Math.min(UNITS.length, power / ZEROS);
    return rounded.movePointLeft(ZEROS * unit).stripTrailingZeros().toPlainString()
        + UNITS[unit - 1];
  }
}
