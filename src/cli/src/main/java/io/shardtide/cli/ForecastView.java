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
import java.util.Optional;
import java.util.stream.Stream;

/** Forecasts of hashed tables as text: a row a table, and a sentence where memory ends. */
final class ForecastView {
  private static final String NEVER = "not expected";

  /** Below, a forecast is shown to the id; from here on, with {@link #DIGITS}. */
  private static final double ROUNDED_FROM = 100_000;

  private static final MathContext DIGITS = new MathContext(3);

  /** Powers of a thousand: a thousand, a million, a billion (10^9), a trillion (10^12). */
  private static final String[] UNITS = {"K", "M", "B", "T"};

  /** Digits of a thousand's zeros. */
  private static final int ZEROS = 3;

  private record Row(TableForecasts of, TableForecast table) {
    static Stream<Row> of(TableForecasts of) {
      return of.tables().stream().map(table -> new Row(of, table));
    }

    /** Returns the slots that the planner gave a table and that no report has yet. */
    Optional<Long> resizedTo() {
      return Optional.of(of.slotsGiven(table)).filter(given -> given != table.slots());
    }
  }

  private ForecastView() {}

  /**
   * Returns the forecasts of workloads, in the order given.
   *
   * @param workloads the latest forecasts of each
   */
  static String text(Collection<TableForecasts> workloads) {
    Printed out = new Printed();
    out.table(
        new Table<>(workloads.stream().flatMap(Row::of).toList())
            .left("workload", row -> row.of().workloadId())
            .left("table", row -> row.table().table())
            .right("ids", "%,d", row -> row.table().ids())
            .right("slots", "%,d", row -> row.table().slots())
            .right("fill", "%.1f%%", row -> 100.0 * row.table().ids() / row.table().slots())
            .left("ids in a day", row -> range(row.table().inDay()))
            .left("in 7 days", row -> range(row.table().inWeek()))
            .left("in 28 days", row -> range(row.table().inFourWeeks()))
            .left("full in", row -> row.table().daysUntilFull().map(DayTexts::of).orElse(NEVER))
            .right("resized to", "%,d", Row::resizedTo)
            .left("reported", row -> row.of().measuredAt().truncatedTo(ChronoUnit.SECONDS)));
    for (TableForecasts forecasts : workloads) {
      forecasts
          .memoryEnd()
          .ifPresent(end -> out.sentence(forecasts.workloadId() + ": " + end.describe()));
    }
    return out.toString();
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
