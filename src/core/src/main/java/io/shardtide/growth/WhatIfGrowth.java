package io.shardtide.growth;

import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.Names;
import io.shardtide.workload.NumberRange;
import java.util.ArrayList;
import java.util.List;

/** What would be forecast if tables grew faster, or slower, from their latest reports on. */
public final class WhatIfGrowth {
  /** Range of the factor of growth. */
  public static final NumberRange FACTOR = NumberRange.of(0, 1_000);

  private WhatIfGrowth() {}

  /**
   * Forecasts again. All that was expected of each table, ranges and bursts included, is multiplied
   * by the factor; capacities are chosen as the planner would. Tables that evict stay as they are.
   *
   * @param recorded the forecasts of a report
   * @param factor how many times as fast tables grow; {@link #FACTOR}
   * @throws IllegalArgumentException if the factor is outside its range, or the forecasts do not
   *     say what they were made from
   */
  public static TableForecasts of(TableForecasts recorded, double factor) {
    FACTOR.check("growth", factor);
    GrowthInputs inputs = recorded.inputs().orElseThrow(() -> unknown(recorded));
    List<HashedTable> tables =
        recorded.tables().stream().map(table -> table(recorded, table, factor)).toList();
    Capacities capacities = new Capacities(inputs.policy());
    List<TableForecast> forecasts = new ArrayList<>();
    for (int i = 0; i < tables.size(); i++) {
      forecasts.add(forecast(recorded.tables().get(i), tables.get(i)));
    }
    return TableForecastsBuilder.builder(recorded)
        .tables(forecasts)
        .resizes(capacities.resizes(tables, inputs.memoryBytes()))
        .memoryEnd(capacities.memoryEnd(tables, inputs.memoryBytes()))
        .build();
  }

  private static HashedTable table(TableForecasts recorded, TableForecast table, double factor) {
    TableInputs inputs = table.inputs().orElseThrow(() -> unknown(recorded));
    return new HashedTable(
        table.table(),
        recorded.slotsGiven(table),
        inputs.bytesPerSlot(),
        Forecaster.forecast(inputs.growth().history(), inputs.idsPerDay()).times(factor),
        inputs.evicts(),
        new HitCurve(AccessCdf.UNKNOWN, 0),
        0);
  }

  private static TableForecast forecast(TableForecast recorded, HashedTable table) {
    Forecast forecast = table.forecast();
    return TableForecastBuilder.builder(recorded)
        .rows(table.capacity())
        .inDay(forecast.in(1))
        .inWeek(forecast.in(7))
        .inFourWeeks(forecast.in(28))
        .daysUntilFull(table.daysUntilFull(recorded.slots()))
        .build();
  }

  private static IllegalArgumentException unknown(TableForecasts recorded) {
    return new IllegalArgumentException(
        "forecasts of workload %s must say what they were made from, got those of a planner that did not write it yet; the next report of its trainer gives new ones"
            .formatted(Names.quote(recorded.workloadId())));
  }
}
