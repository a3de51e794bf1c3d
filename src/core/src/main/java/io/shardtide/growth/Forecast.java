package io.shardtide.growth;

import io.shardtide.workload.Limits;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.DoubleUnaryOperator;
import java.util.function.ToDoubleFunction;

/**
 * How many ids a table will have, for half a year.
 *
 * @param now the report that it begins with
 * @param expected ids that are added until the end of each hour from now on
 * @param errors what the expected growth may differ by
 * @param burst what is added now beside it
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
public record Forecast(Fill now, double[] expected, ErrorRanges errors, Burst burst) {
  /** Beyond half a year, nothing that was measured says much. */
  public static final int MOST_DAYS = 180;

  static final int HOURS = 24;

  private static final int MINUTES = 60;

  /**
   * Returns what is forecast if the table grows so many times as fast from now on.
   *
   * @param factor 0 or more
   */
  Forecast times(double factor) {
    return new Forecast(
        now,
        Arrays.stream(expected).map(added -> factor * added).toArray(),
        errors.times(factor),
        burst.times(factor));
  }

  /**
   * Returns how many ids the table will have.
   *
   * @param days from now on, 0 to {@value #MOST_DAYS}
   * @throws IllegalArgumentException if it is not forecast
   */
  public Range in(double days) {
    Limits.ARGUMENTS.within("days", days, 0, MOST_DAYS);
    double hours = days * HOURS;
    int whole = (int) hours;
    double before = whole == 0 ? 0 : expected[whole - 1];
    double after = whole == expected.length ? before : expected[whole];
    double added = before + (hours - whole) * (after - before);
    return burst.in(days).plus(errors.in(days)).plus(now.ids() + added).atLeast(0);
  }

  /**
   * Returns the most ids that the highest forecast has within some days.
   *
   * @param days from now on, 0 to {@value #MOST_DAYS}
   */
  public double most(double days) {
    return most(days, at -> in(at).high());
  }

  /**
   * Returns the same if a burst lasts only as long again as it has lasted. A table that is given
   * room for the highest forecast has more than that until the burst has lasted half as long again,
   * although the forecast rises with each report.
   *
   * @param days from now on, 0 to {@value #MOST_DAYS}
   */
  double likelyMost(double days) {
    return most(days, at -> in(at).high() - burst.in(at).high() + burst.in(at).median());
  }

  private double most(double days, DoubleUnaryOperator ids) {
    double most = Math.max(now.ids(), ids.applyAsDouble(days));
    for (int step = 1; daysOf(step) < days; step++) {
      most = Math.max(most, ids.applyAsDouble(daysOf(step)));
    }
    return most;
  }

  /** Returns when a step ends, in days: minutes for an hour, then hours. */
  private static double daysOf(int step) {
    return step <= MINUTES
        ? (double) step / MINUTES / HOURS
        : (double) (step - MINUTES + 1) / HOURS;
  }

  /**
   * Returns in how many days the table will have more ids than some: at the earliest as the highest
   * forecast, at the latest as the lowest one has it; infinite if not within {@value #MOST_DAYS}
   * days.
   *
   * @return empty if not even the highest forecast is above them
   */
  public Optional<Range> daysUntilAbove(double ids) {
    double earliest = firstAbove(ids, Range::high);
    return earliest == Double.POSITIVE_INFINITY
        ? Optional.empty()
        : Optional.of(
            new Range(earliest, firstAbove(ids, Range::median), firstAbove(ids, Range::low)));
  }

  private double firstAbove(double ids, ToDoubleFunction<Range> of) {
    double before = now.ids();
    if (before > ids) {
      return 0;
    }
    double days = 0;
    for (int step = 1; daysOf(step) <= MOST_DAYS; step++) {
      double after = of.applyAsDouble(in(daysOf(step)));
      if (after > ids) {
        return days + (daysOf(step) - days) * (ids - before) / (after - before);
      }
      before = after;
      days = daysOf(step);
    }
    return Double.POSITIVE_INFINITY;
  }
}
