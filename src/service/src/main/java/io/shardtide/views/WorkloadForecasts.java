package io.shardtide.views;

import io.shardtide.growth.DayTexts;
import io.shardtide.growth.Fill;
import io.shardtide.growth.FillHistory;
import io.shardtide.growth.HashedTable;
import io.shardtide.growth.Range;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import io.shardtide.growth.TableGrowth;
import io.shardtide.growth.TableInputs;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * What is forecast of a workload's hashed tables, as its view shows it.
 *
 * @param measuredAt when the tables were reported; days count from then
 * @param tables the tables, in the order of their names
 * @param memoryEnd when memory no longer holds them; empty if it does for growth.warning.days
 */
public record WorkloadForecasts(
    Instant measuredAt, List<ForecastRow> tables, Optional<ForecastMemoryEnd> memoryEnd) {

  /**
   * A hashed table.
   *
   * @param name its name
   * @param ids ids that it holds
   * @param slots slots that it has, as reported
   * @param slotsGiven slots that the planner gave it
   * @param fullAt ids above which it is full; empty if it makes room by itself
   * @param past ids that it had in the four weeks until its latest report, as {@link
   *     FillHistory#past}; empty if an earlier planner made the forecast
   * @param resizedAt the report after which the planner gave it these slots; empty if it gave
   *     nothing, or an earlier planner made the forecast
   * @param inDay ids that it will hold in a day
   * @param inWeek in 7 days
   * @param inFourWeeks in 28 days
   * @param daysUntilFull in how many days it is full, as {@link TableForecast#daysUntilFull}; empty
   *     if it is not expected to be within 180 days, or makes room by itself
   */
  public record ForecastRow(
      String name,
      long ids,
      long slots,
      long slotsGiven,
      OptionalDouble fullAt,
      List<Fill> past,
      Optional<Instant> resizedAt,
      Range inDay,
      Range inWeek,
      Range inFourWeeks,
      Optional<ForecastDays> daysUntilFull) {}

  /**
   * In how many days something is expected.
   *
   * @param earliest it is earlier in 5% of cases
   * @param median it is earlier in half of the cases; empty for more than 180 days
   * @param latest it is later in 5% of cases; empty for more than 180 days
   * @param text all three, for people
   */
  public record ForecastDays(
      double earliest, OptionalDouble median, OptionalDouble latest, String text) {
    static ForecastDays of(Range days) {
      return new ForecastDays(
          days.low(), finite(days.median()), finite(days.high()), DayTexts.of(days));
    }

    private static OptionalDouble finite(double days) {
      return Double.isFinite(days) ? OptionalDouble.of(days) : OptionalDouble.empty();
    }
  }

  /**
   * When memory no longer holds the tables, whatever the plan.
   *
   * @param days in how many days
   * @param bytesShort bytes that are missing at the end of growth.warning.days, at least 1
   */
  public record ForecastMemoryEnd(ForecastDays days, long bytesShort) {}

  static WorkloadForecasts of(TableForecasts forecasts) {
    return new WorkloadForecasts(
        forecasts.measuredAt(),
        forecasts.tables().stream().map(table -> row(forecasts, table)).toList(),
        forecasts
            .memoryEnd()
            .map(end -> new ForecastMemoryEnd(ForecastDays.of(end.days()), end.bytesShort())));
  }

  private static ForecastRow row(TableForecasts forecasts, TableForecast table) {
    Optional<TableGrowth> growth = table.inputs().map(TableInputs::growth);
    boolean evicts =
        table.inputs().map(TableInputs::evicts).orElse(table.daysUntilFull().isEmpty());
    return new ForecastRow(
        table.table(),
        table.ids(),
        table.slots(),
        forecasts.slotsGiven(table),
        evicts
            ? OptionalDouble.empty()
            : OptionalDouble.of(HashedTable.LOAD_FACTOR * table.slots()),
        growth.map(g -> latest(g.history().past())).orElse(List.of()),
        growth.map(TableGrowth::askedAtMs).filter(at -> at > 0).map(Instant::ofEpochMilli),
        table.inDay(),
        table.inWeek(),
        table.inFourWeeks(),
        table.daysUntilFull().map(ForecastDays::of));
  }

  /** Returns the fills of as much time as is forecast. */
  private static List<Fill> latest(List<Fill> past) {
    long from = past.get(past.size() - 1).atMs() - Duration.ofDays(28).toMillis();
    return past.stream().filter(fill -> fill.atMs() >= from).toList();
  }
}
