package io.shardtide.growth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import java.util.function.IntToDoubleFunction;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class ForecasterTest {
  private static final long MINUTE = 60_000;
  private static final long HOUR = FillHistory.HOUR_MS;

  /** Reports each hour, for so many days, of what each hour adds. */
  private static FillHistory hourly(int days, double first, IntToDoubleFunction added) {
    FillHistory history = FillHistory.of(new Fill(0, first));
    double ids = first;
    for (int hour = 0; hour < 24 * days; hour++) {
      ids += added.applyAsDouble(hour);
      history = history.with(new Fill((hour + 1) * HOUR, ids));
    }
    return history;
  }

  private static Forecast forecast(FillHistory history) {
    return Forecaster.forecast(history, 0);
  }

  @Test
  void even_growth_goes_on_without_doubt() {
    Forecast forecast = forecast(hourly(40, 1_000, hour -> 10));
    assertThat(forecast.in(0)).isEqualTo(new Range(10_600, 10_600, 10_600));
    for (double days : new double[] {0.5, 1, 7, 28.25, 180}) {
      assertThat(forecast.in(days).median()).isCloseTo(10_600 + 240 * days, within(1e-6));
      assertThat(forecast.in(days).low()).isCloseTo(10_600 + 240 * days, within(1e-6));
      assertThat(forecast.in(days).high()).isCloseTo(10_600 + 240 * days, within(1e-6));
    }
    Range full = forecast.daysUntilAbove(10_600 + 240 * 3.2).orElseThrow();
    assertThat(full.median()).isCloseTo(3.2, within(1e-6));
    assertThat(forecast.daysUntilAbove(10_600 + 240 * 181)).isEmpty();
    assertThat(forecast.daysUntilAbove(10_599).orElseThrow()).isEqualTo(new Range(0, 0, 0));
  }

  @Test
  void days_of_the_week_and_hours_of_the_day_return() {
    // Nothing on the last two days of a week, nor in the first half of a day.
    IntToDoubleFunction added =
        hour -> Math.floorMod(hour / 24, 7) < 5 && Math.floorMod(hour, 24) >= 12 ? 10 : 0;
    Forecast forecast = forecast(hourly(7 * 8, 0, added));
    double now = forecast.now().ids();
    assertThat(forecast.in(0.5).median() - now).isCloseTo(0, within(1.0));
    assertThat(forecast.in(1).median() - now).isCloseTo(120, within(5.0));
    assertThat(forecast.in(5).median() - now).isCloseTo(600, within(20.0));
    assertThat(forecast.in(7).median() - now).isCloseTo(600, within(20.0));
    assertThat(forecast.in(14).median() - now).isCloseTo(1_200, within(40.0));
  }

  @Test
  void a_burst_of_days_and_a_wrong_report_change_the_range_more_than_the_median() {
    IntToDoubleFunction added =
        hour -> hour / 24 == 30 || hour / 24 == 31 ? 100 : hour == 24 * 40 + 5 ? -5_000 : 10;
    Forecast forecast = forecast(hourly(45, 10_000, added));
    double now = forecast.now().ids();
    assertThat(forecast.in(7).median() - now).isCloseTo(7 * 240, within(0.1 * 7 * 240));
    assertThat(forecast.in(7).high() - now).isGreaterThan(2 * 7 * 240);
    assertThat(forecast.in(7).low() - now).isLessThan(0);
  }

  @Test
  void growth_that_the_publisher_describes_counts_until_a_day_was_reported() {
    FillHistory history = FillHistory.of(new Fill(5 * HOUR, 1_000));
    assertThat(Forecaster.forecast(history, 240).in(2)).isEqualTo(new Range(1_000, 1_480, 2_440));
    assertThat(Forecaster.forecast(history, 0).in(180)).isEqualTo(new Range(1_000, 1_000, 1_000));
    assertThat(Forecaster.forecast(hourly(9, 0, hour -> 1), 1e9).in(1).median()).isEqualTo(240);
  }

  /** Doubling within a minute, in a table that grew by a thousandth an hour. */
  @Test
  void a_burst_of_seconds_is_expected_to_last_as_long_again() {
    FillHistory history = hourly(20, 1_000_000, hour -> 1_000);
    double before = history.last().ids();
    long at = history.last().atMs() + MINUTE;
    for (int second = 0; second <= 20; second += 2) {
      history = history.with(new Fill(at + second * 1_000L, before + second * 25_000));
    }
    Forecast forecast = forecast(history);
    double inAMinute = 1.0 / 24 / 60;
    assertThat(forecast.in(inAMinute / 6).median()).isGreaterThan(before + 28 * 25_000);
    assertThat(forecast.in(inAMinute).high()).isGreaterThan(before + 55 * 25_000);
    Range full = forecast.daysUntilAbove(before + 30 * 25_000).orElseThrow();
    assertThat(full.low() * 24 * 60 * 60).isBetween(5.0, 15.0);
  }

  /** Reports every two seconds: the latest ones are of half a minute, the burst of 20 minutes. */
  @Test
  void a_burst_is_expected_to_last_as_long_again_however_often_it_is_reported() {
    FillHistory history = hourly(20, 1_000_000, hour -> 1_000);
    double ids = history.last().ids();
    long at = history.last().atMs();
    for (int second = 2; second <= 60 * 60; second += 2) {
      ids += second > 40 * 60 ? 500 : 0.5;
      history = history.with(new Fill(at + second * 1_000L, ids));
      assertThat(history.recent()).hasSizeLessThanOrEqualTo(FillHistory.MOST_RECENT);
    }
    double added = 500.0 * 600;
    assertThat(forecast(history).in(1).median() - ids).isBetween(0.8 * added, 1.2 * added + 24_000);
    assertThat(forecast(history).in(1).high() - ids).isGreaterThan(1.7 * added);
  }

  /** Reports of seconds, then of half hours: what was the rate of seconds is not that of hours. */
  @Test
  void a_burst_is_over_when_two_reports_show_less() {
    FillHistory history = FillHistory.of(new Fill(0, 50_000));
    for (int second = 2; second <= 300; second += 2) {
      history = history.with(new Fill(second * 1_000L, 50_000 + 500 * second));
    }
    double ids = history.last().ids();
    assertThat(forecast(history).in(1).median() - ids).isCloseTo(150_000, within(1.0));
    for (int report = 1; report <= 20; report++) {
      history = history.with(new Fill(300_000L + report * HOUR / 2, ids + 500 * report));
      assertThat(forecast(history).in(1).high() - history.last().ids())
          .as("report %d", report)
          .isLessThan(25_000);
    }
  }

  /** Five days' worth of ids in a day, in a table that is reported every six hours. */
  @Test
  void a_burst_of_days_is_seen_in_reports_of_hours() {
    FillHistory history = FillHistory.of(new Fill(0, 100_000));
    double ids = 100_000;
    for (long report = 1; report <= 4 * 40 + 2; report++) {
      ids += report > 4 * 40 ? 1_250 : 250;
      history = history.with(new Fill(6 * report * HOUR, ids));
    }
    Forecast forecast = forecast(history);
    assertThat(forecast.in(0.5).median()).isGreaterThan(ids + 2_000);
    assertThat(forecast.in(14).median()).isLessThan(ids + 14 * 1_000 + 5_000);
  }

  /** All ids of a day come within six hours: four times the day's rate is no burst then. */
  @Test
  void the_busy_hours_of_each_day_are_no_burst() {
    FillHistory busy = FillHistory.of(new Fill(0, 0));
    double ids = 0;
    for (int hour = 1; hour <= 24 * 40 + 6; hour++) {
      ids += Math.floorMod(hour - 1, 24) < 6 ? 40 : 0;
      busy = busy.with(new Fill(hour * HOUR, ids));
    }
    assertThat(forecast(busy).in(0.75).high()).isCloseTo(ids, within(5.0));
    assertThat(forecast(busy).in(7).median()).isCloseTo(ids + 7 * 240, within(5.0));
  }

  @Test
  void only_half_a_year_is_forecast() {
    Forecast forecast = forecast(hourly(3, 0, hour -> 1));
    assertThatThrownBy(() -> forecast.in(181)).hasMessageContaining("between 0 and 180, got 181");
    assertThatThrownBy(() -> forecast.in(-1)).hasMessageContaining("got -1");
  }

  /** Whatever is reported: numbers in order, and the same from the same reports. */
  @Property(tries = 60)
  void forecasts_of_any_reports_are_numbers_in_order(@ForAll long seed) {
    Random random = new Random(seed);
    double most = StrictMath.pow(10, random.nextInt(12));
    long at = random.nextInt(1_000_000_000);
    FillHistory history = FillHistory.of(new Fill(at, most * random.nextDouble()));
    long longest = (long) StrictMath.pow(10, 1 + random.nextInt(9));
    for (int report = random.nextInt(300); report > 0; report--) {
      at += 1 + (long) (longest * random.nextDouble());
      history = history.with(new Fill(at, most * random.nextDouble()));
    }
    double described = random.nextBoolean() ? 0 : most * random.nextDouble();
    Forecast forecast = Forecaster.forecast(history, described);
    Forecast again = Forecaster.forecast(history, described);
    double capacity = 2 * most * random.nextDouble();
    assertThat(again.daysUntilAbove(capacity)).isEqualTo(forecast.daysUntilAbove(capacity));
    for (double days : new double[] {0, 1e-4, 0.3, 1, 2.7, 30, 180}) {
      Range range = forecast.in(days);
      assertThat(range.low()).isBetween(0.0, range.median());
      assertThat(range.median()).isLessThanOrEqualTo(range.high());
      assertThat(range.high()).isFinite();
      assertThat(again.in(days)).isEqualTo(range);
      assertThat(forecast.most(days)).isGreaterThanOrEqualTo(range.high());
    }
    forecast
        .daysUntilAbove(capacity)
        .ifPresent(
            days -> {
              assertThat(days.low()).isLessThanOrEqualTo(days.median());
              assertThat(days.median()).isLessThanOrEqualTo(days.high());
              assertThat(forecast.most(Math.min(180, days.low() + 0.1)))
                  .isGreaterThanOrEqualTo(capacity);
            });
  }
}
