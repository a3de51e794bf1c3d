package io.shardtide.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.shardtide.growth.Forecast;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.Range;
import io.shardtide.growth.TableForecasts;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

/** Metrics of tables that grow. */
final class GrowthMetrics {
  private final List<Forecasts> open = new CopyOnWriteArrayList<>();
  private final Counter reports;
  private final Counter resizes;

  GrowthMetrics(MeterRegistry meters) {
    reports =
        Counter.builder("shardtide.fill.reports")
            .description("Reports of how full hashed tables are")
            .register(meters);
    resizes =
        Counter.builder("shardtide.tables.resized")
            .description("Hashed tables that were given other capacities")
            .register(meters);
    Gauge.builder("shardtide.table.days.until.full", open, GrowthMetrics::daysUntilFull)
        .description("Days until the first hashed table is full, at the earliest; at most 180")
        .register(meters);
    Gauge.builder("shardtide.memory.days.until.full", open, GrowthMetrics::daysUntilMemoryEnd)
        .description("Days until memory no longer holds a workload's tables; at most 180")
        .register(meters);
  }

  private static Stream<TableForecasts> all(List<Forecasts> open) {
    return open.stream().flatMap(forecasts -> forecasts.latest.values().stream());
  }

  private static double daysUntilFull(List<Forecasts> open) {
    return all(open)
        .flatMap(forecasts -> forecasts.tables().stream())
        .flatMap(table -> table.daysUntilFull().stream())
        .mapToDouble(Range::low)
        .min()
        .orElse(Forecast.MOST_DAYS);
  }

  private static double daysUntilMemoryEnd(List<Forecasts> open) {
    return all(open)
        .flatMap(forecasts -> forecasts.memoryEnd().stream())
        .map(MemoryEnd::days)
        .mapToDouble(Range::median)
        .min()
        .orElse(Forecast.MOST_DAYS);
  }

  /** The forecasts of a task; one thread calls it, others read the gauges. */
  final class Forecasts implements AutoCloseable {
    private final Map<String, TableForecasts> latest = new ConcurrentHashMap<>();

    /** Shows the forecasts of a workload's tables from now on. */
    void show(TableForecasts forecasts) {
      latest.put(forecasts.workloadId(), forecasts);
    }

    /** Shows nothing of a workload any more: it was deleted, or has no reported table. */
    void remove(String workloadId) {
      latest.remove(workloadId);
    }

    @Override
    public void close() {
      open.remove(this);
    }
  }

  /** Adds a task's forecasts to the gauges until the result is closed. */
  Forecasts open() {
    Forecasts forecasts = new Forecasts();
    open.add(forecasts);
    return forecasts;
  }

  /** Counts a report and what followed from it. */
  void forecast(GrowthStep.Growth growth) {
    reports.increment();
    resizes.increment(growth.forecasts().resizes().size());
  }
}
