package io.shardtide.topology;

import io.shardtide.client.ForecastReader;
import io.shardtide.config.ServiceSettings;
import io.shardtide.growth.DayTexts;
import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.Range;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.Names;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;

/** Names hashed tables and memory that will be full, for {@code doctor}. */
final class ForecastCheck {
  /** A table that is full within so many days is named. */
  private static final double SOON_DAYS = 1;

  /** Tables, and workloads, that are named; further ones are counted. */
  private static final int LISTED = 3;

  private ForecastCheck() {}

  /** Reads the latest forecasts. */
  static CheckResult read(ServiceSettings settings) {
    try (ForecastReader reader = ForecastReader.connect(settings.endpoint())) {
      return of(reader.read().values());
    }
  }

  /** A table that will be full, or memory, after some days. */
  private record Full(double days, String text) {}

  private static Full table(TableForecasts of, TableForecast table, Range days) {
    return new Full(
        days.median(),
        "table %s of workload %s is full in %s after its report of %s"
            .formatted(
                Names.quote(table.table()),
                Names.quote(of.workloadId()),
                DayTexts.of(days),
                of.measuredAt()));
  }

  private static Full memory(TableForecasts of, MemoryEnd end) {
    return new Full(
        end.days().median(),
        "memory holds workload %s for %s after its report of %s; at the end of growth.warning.days, %s are missing"
            .formatted(
                Names.quote(of.workloadId()),
                DayTexts.of(end.days()),
                of.measuredAt(),
                ByteSizes.describe(ByteSizes.roundedUp(end.bytesShort()))));
  }

  /**
   * Returns what forecasts say.
   *
   * @param latest the latest forecasts of each workload, in the order in which they are named where
   *     days are equal
   */
  static CheckResult of(Collection<TableForecasts> latest) {
    List<Full> tables = new ArrayList<>();
    List<Full> memory = new ArrayList<>();
    for (TableForecasts forecasts : latest) {
      forecasts.memoryEnd().ifPresent(end -> memory.add(memory(forecasts, end)));
      for (TableForecast table : forecasts.tables()) {
        table
            .daysUntilFull()
            .filter(days -> days.median() <= SOON_DAYS)
            .ifPresent(days -> tables.add(table(forecasts, table, days)));
      }
    }
    if (tables.isEmpty() && memory.isEmpty()) {
      return CheckResult.ok("no hashed table is full within a day, and memory holds all workloads");
    }
    List<String> findings = new ArrayList<>();
    List<String> remedies = new ArrayList<>();
    if (!tables.isEmpty()) {
      add(findings, tables, "tables");
      remedies.add("docs/RUNBOOK.md, A table is nearly full");
    }
    if (!memory.isEmpty()) {
      add(findings, memory, "workloads");
      remedies.add("docs/RUNBOOK.md, Memory ends soon");
    }
    remedies.add("./shardtide forecasts shows all tables");
    return CheckResult.warning(
        String.join("; ", findings), String.join(System.lineSeparator(), remedies));
  }

  private static void add(List<String> findings, List<Full> all, String what) {
    all.stream()
        .sorted(Comparator.comparingDouble(Full::days))
        .limit(LISTED)
        .forEach(full -> findings.add(full.text()));
    if (all.size() > LISTED) {
      findings.add("and %,d more %s".formatted(all.size() - LISTED, what));
    }
  }
}
