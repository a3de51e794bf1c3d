package io.shardtide.topology;

import io.shardtide.client.ForecastReader;
import io.shardtide.config.ServiceSettings;
import io.shardtide.growth.DayTexts;
import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.Names;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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

  private static Optional<Full> table(TableForecasts of, TableForecast table) {
    return table
        .daysUntilFull()
        .filter(days -> days.median() <= SOON_DAYS)
        .map(
            days ->
                new Full(
                    days.median(),
                    "table %s of workload %s is full in %s after its report of %s"
                        .formatted(
                            Names.quote(table.table()),
                            Names.quote(of.workloadId()),
                            DayTexts.of(days),
                            of.measuredAt())));
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
    List<String> tables =
        findings(
            latest.stream()
                .flatMap(of -> of.tables().stream().flatMap(table -> table(of, table).stream())),
            "tables");
    List<String> memory =
        findings(
            latest.stream().flatMap(of -> of.memoryEnd().stream().map(end -> memory(of, end))),
            "workloads");
    if (tables.isEmpty() && memory.isEmpty()) {
      return CheckResult.ok("no hashed table is full within a day, and memory holds all workloads");
    }
    return CheckResult.warning(
        Stream.concat(tables.stream(), memory.stream()).collect(Collectors.joining("; ")),
        (tables.isEmpty() ? "" : "docs/RUNBOOK.md, A table is nearly full%n")
            .concat(memory.isEmpty() ? "" : "docs/RUNBOOK.md, Memory ends soon%n")
            .concat("./shardtide table forecast shows all tables")
            .formatted());
  }

  private static List<String> findings(Stream<Full> full, String what) {
    List<String> all =
        full.sorted(Comparator.comparingDouble(Full::days))
            .map(Full::text)
            .collect(Collectors.toList());
    int more = all.size() - LISTED;
    if (more > 0) {
      all.subList(LISTED, all.size()).clear();
      all.add("and %,d more %s".formatted(more, what));
    }
    return all;
  }
}
