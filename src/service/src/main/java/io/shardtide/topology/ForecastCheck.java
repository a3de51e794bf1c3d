package io.shardtide.topology;

import static io.shardtide.wire.TopicType.CURRENT_FORECASTS;

import io.shardtide.client.ForecastReader;
import io.shardtide.config.ServiceSettings;
import io.shardtide.growth.DayTexts;
import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.Range;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topics;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.Names;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;

/** Names hashed tables and memory that will be full, for {@code doctor}. */
final class ForecastCheck {
  /** A table that is full within so many days is named. */
  private static final double SOON_DAYS = 1;

  /** Tables, and workloads, that are named; further ones are counted. */
  private static final int LISTED = 3;

  private ForecastCheck() {}

  /**
   * Reads the latest forecasts.
   *
   * @param admin client; the caller closes it
   */
  static CheckResult run(Admin admin, Topics topics, ServiceSettings settings)
      throws InterruptedException, ExecutionException {
    String topic = topics.of(CURRENT_FORECASTS).name();
    if (!admin.listTopics().names().get().contains(topic)) {
      return CheckResult.ok("no planner with growth.enabled=true has started yet");
    }
    try (ForecastReader reader = ForecastReader.connect(settings.endpoint())) {
      return of(reader.read().values());
    } catch (RuntimeException e) {
      // Planners do not read it: a right that is missing stops none.
      return CheckResult.warning(
          "%s cannot be read: %s".formatted(topic, AuthorizationErrors.describe(e, settings)),
          "grant what ./shardtide acls --role dashboard%s prints"
              .formatted(Extension.options(settings.extensions())));
    }
  }

  private record FullTable(TableForecasts of, TableForecast table, Range days) {
    String describe() {
      return "table %s of workload %s is full in %s after its report of %s"
          .formatted(
              Names.quote(table.table()),
              Names.quote(of.workloadId()),
              DayTexts.of(days),
              of.measuredAt());
    }
  }

  private record FullMemory(TableForecasts of, MemoryEnd end) {
    String describe() {
      return "memory holds workload %s for %s after its report of %s; at the end of growth.warning.days, %s are missing"
          .formatted(
              Names.quote(of.workloadId()),
              DayTexts.of(end.days()),
              of.measuredAt(),
              ByteSizes.describe(ByteSizes.roundedUp(end.bytesShort())));
    }
  }

  /**
   * Returns what forecasts say.
   *
   * @param latest the latest forecasts of each workload, in the order in which they are named where
   *     days are equal
   */
  static CheckResult of(Collection<TableForecasts> latest) {
    List<FullTable> tables = new ArrayList<>();
    List<FullMemory> memory = new ArrayList<>();
    for (TableForecasts forecasts : latest) {
      forecasts.memoryEnd().ifPresent(end -> memory.add(new FullMemory(forecasts, end)));
      for (TableForecast table : forecasts.tables()) {
        table
            .daysUntilFull()
            .filter(days -> days.median() <= SOON_DAYS)
            .ifPresent(days -> tables.add(new FullTable(forecasts, table, days)));
      }
    }
    if (tables.isEmpty() && memory.isEmpty()) {
      return CheckResult.ok("no hashed table is full within a day, and memory holds all workloads");
    }
    tables.sort(Comparator.comparingDouble(full -> full.days().median()));
    memory.sort(Comparator.comparingDouble(full -> full.end().days().median()));
    List<String> findings = new ArrayList<>();
    List<String> remedies = new ArrayList<>();
    if (!tables.isEmpty()) {
      tables.stream().limit(LISTED).forEach(full -> findings.add(full.describe()));
      addMore(findings, tables.size(), "tables");
      remedies.add("docs/OPERATING.md, A table is nearly full");
    }
    if (!memory.isEmpty()) {
      memory.stream().limit(LISTED).forEach(full -> findings.add(full.describe()));
      addMore(findings, memory.size(), "workloads");
      remedies.add("docs/OPERATING.md, Memory ends soon");
    }
    remedies.add("./shardtide forecasts shows all tables");
    return CheckResult.warning(
        String.join("; ", findings), String.join(System.lineSeparator(), remedies));
  }

  private static void addMore(List<String> findings, int all, String what) {
    if (all > LISTED) {
      findings.add("and %,d more %s".formatted(all - LISTED, what));
    }
  }
}
