package io.shardtide.growth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class WhatIfGrowthTest {
  private static final double MEMORY = 3e6;

  /** Forecasts of a workload as the growth step makes them, after some days of reports. */
  private static TableForecasts forecasts(int days, long seed) {
    Random random = new Random(seed);
    FillHistory history = FillHistory.of(new Fill(0, 10_000));
    for (int hour = 1; hour <= 24 * days; hour++) {
      history =
          history.with(
              new Fill(
                  (long) hour * FillHistory.HOUR_MS,
                  history.last().ids() + (double) random.nextInt(20)));
    }
    TableInputs inputs = new TableInputs(new TableGrowth(history, 40_000, 0, 0), 100, false, 64.0);
    Forecast forecast = Forecaster.forecast(history, 100);
    TableForecast table =
        new TableForecast(
            "a",
            (long) history.last().ids(),
            40_000,
            40_000,
            1,
            2,
            3,
            forecast.in(1),
            forecast.in(7),
            forecast.in(28),
            forecast.daysUntilAbove(0.8 * 40_000),
            Optional.of(inputs));
    return new TableForecasts(
        "ads",
        "r",
        Instant.ofEpochMilli(history.last().atMs()),
        1,
        List.of(table),
        List.of(),
        Optional.empty(),
        Optional.of(new GrowthInputs(0, MEMORY, CapacityPolicy.DEFAULTS)));
  }

  @Property(tries = 40)
  void growth_as_expected_is_what_was_recorded(
      @ForAll @IntRange(min = 0, max = 40) int days, @ForAll long seed) {
    TableForecasts recorded = forecasts(days, seed);
    assertThat(WhatIfGrowth.of(recorded, 1).tables()).isEqualTo(recorded.tables());
  }

  @Property(tries = 40)
  void twice_the_growth_adds_twice_the_ids_and_fills_a_table_earlier(
      @ForAll @IntRange(min = 0, max = 40) int days, @ForAll long seed) {
    TableForecast once = forecasts(days, seed).tables().get(0);
    TableForecasts doubled = WhatIfGrowth.of(forecasts(days, seed), 2);
    TableForecast twice = doubled.tables().get(0);
    assertThat(twice.inWeek().median() - once.ids())
        .isCloseTo(2 * (once.inWeek().median() - once.ids()), within(1e-6));
    assertThat(twice.inFourWeeks().high()).isGreaterThanOrEqualTo(once.inFourWeeks().high());
    assertThat(twice.daysUntilFull().orElseThrow().median())
        .isLessThan(once.daysUntilFull().orElseThrow().median());
    assertThat(twice.insertions()).isEqualTo(once.insertions());
  }

  @Test
  void memory_ends_and_capacities_are_those_of_the_other_growth() {
    assertThat(WhatIfGrowth.of(forecasts(30, 1), 1).memoryEnd()).isEmpty();
    MemoryEnd end = WhatIfGrowth.of(forecasts(30, 1), 5).memoryEnd().orElseThrow();
    assertThat(end.days().median()).isBetween(5.0, 40.0);
    TableForecasts fast = WhatIfGrowth.of(forecasts(30, 1), 40);
    assertThat(fast.resizes())
        .singleElement()
        .satisfies(r -> assertThat(r.capacity()).as("what fits").isEqualTo((long) (MEMORY / 64)));
    assertThat(fast.memoryEnd().orElseThrow().days().median()).isLessThan(end.days().median());
    assertThat(WhatIfGrowth.of(forecasts(30, 1), 0).tables().get(0).daysUntilFull()).isEmpty();
  }

  @Test
  void a_factor_outside_its_range_and_forecasts_without_inputs_are_refused() {
    assertThatThrownBy(() -> WhatIfGrowth.of(forecasts(1, 1), -1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("growth must be 0 to 1000, got -1");
    TableForecasts old =
        TableForecastsBuilder.builder(forecasts(1, 1)).inputs(Optional.empty()).build();
    assertThatThrownBy(() -> WhatIfGrowth.of(old, 2))
        .hasMessageContaining(
            "forecasts of workload \"ads\" must say what they were made from, got those of a planner");
  }
}
