package io.shardtide.replay;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.TABLE_FORECASTS;

import io.shardtide.cost.CostPredictions;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.GrowthInputs;
import io.shardtide.growth.GrowthState;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.GrowthTables;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Recomputes the recorded forecasts of hashed tables, each from its report, the reports before it
 * and the tables of the generation that it names, and compares all fields. No cost model is needed.
 */
public final class ForecastReplay {
  /** A rejected report may have the id of one that was accepted. */
  private record ReportKey(String workloadId, String reportId, Instant measuredAt) {}

  private final Map<CapacityPolicy, GrowthStep> steps = new HashMap<>();
  private final GrowthTables store = GrowthTables.inMemory();
  private final Map<ReportKey, FillReport> reports = new HashMap<>();

  /** By workload, what was not compared yet. */
  private final Map<String, Deque<TableForecasts>> recorded = new TreeMap<>();

  /** Workloads of which all that was reported before is known. */
  private final Set<String> known = new HashSet<>();

  private final ReplayResult.Tally tally = new ReplayResult.Tally();
  private int withoutInputs;

  private ForecastReplay() {}

  /**
   * Recomputes all recorded forecasts, if reports and predictions are recorded.
   *
   * @param workload whose forecasts are recomputed; empty for all
   * @throws IOException if the records cannot be read
   */
  public static ReplayResult run(LogRecords records, Optional<String> workload) throws IOException {
    ForecastReplay replay = new ForecastReplay();
    if (records.has(TABLE_FILLS) && records.has(COST_PREDICTIONS)) {
      records.read(
          TABLE_FORECASTS,
          forecasts -> {
            String id = forecasts.workloadId();
            if (workload.isEmpty() || workload.get().equals(id)) {
              replay.recorded.computeIfAbsent(id, i -> new ArrayDeque<>()).add(forecasts);
            }
          });
      records.read(TABLE_FILLS, replay::add);
      records.read(COST_PREDICTIONS, replay::onPredictions);
    } else if (records.has(TABLE_FORECASTS)) {
      replay.tally.notes.add(
          "reports or predictions are not recorded: forecasts are not recomputed");
    }
    return replay.result();
  }

  private void add(FillReport report) {
    reports.putIfAbsent(
        new ReportKey(report.workloadId(), report.reportId(), report.measuredAt()), report);
  }

  private void onPredictions(CostPredictions part) {
    Deque<TableForecasts> waiting = recorded.get(part.workloadId());
    if (waiting != null) {
      compareDue(waiting);
      // Predictions are applied in the same way, whatever the policy.
      step(CapacityPolicy.DEFAULTS).onPredictions(store, part);
    }
  }

  /** Compares the forecasts that were made before the next predictions. */
  private void compareDue(Deque<TableForecasts> waiting) {
    while (!waiting.isEmpty() && isDue(waiting.peek())) {
      compare(waiting.remove());
    }
  }

  private boolean isDue(TableForecasts forecasts) {
    GrowthState header = store.header(forecasts.workloadId());
    int parts = forecasts.inputs().map(GrowthInputs::parts).orElse(0);
    return forecasts.generation() < header.generation()
        || (forecasts.generation() == header.generation() && parts <= header.parts());
  }

  private GrowthStep step(CapacityPolicy policy) {
    return steps.computeIfAbsent(policy, GrowthStep::new);
  }

  private void compare(TableForecasts forecasts) {
    if (forecasts.inputs().isEmpty()) {
      withoutInputs++;
      known.remove(forecasts.workloadId());
    } else if (!isReproduced(forecasts, forecasts.inputs().get().policy())) {
      adopt(forecasts);
    }
  }

  private boolean isReproduced(TableForecasts forecasts, CapacityPolicy policy) {
    if (known.add(forecasts.workloadId()) && !isFirst(forecasts)) {
      tally.notes.add(
          "forecasts of workload %s are recomputed from those after %s on: what was reported before them is not recorded"
              .formatted(forecasts.workloadId(), forecasts.measuredAt()));
      return false;
    }
    FillReport report =
        reports.get(
            new ReportKey(forecasts.workloadId(), forecasts.reportId(), forecasts.measuredAt()));
    return isEqual(
        forecasts,
        report == null ? Optional.of("its report is not recorded") : Optional.empty(),
        () -> step(policy).report(store, report, report.measuredAt().toEpochMilli()).forecasts());
  }

  private boolean isEqual(
      TableForecasts forecasts, Optional<String> missing, Supplier<TableForecasts> recompute) {
    Comparer.Comparison<TableForecasts> comparison =
        Comparer.FORECASTS.compare(forecasts, missing, recompute);
    tally.add(forecasts.workloadId(), forecasts.generation(), comparison);
    return comparison.verdict() == Verdict.EQUAL;
  }

  /** Returns whether nothing was reported before. */
  private static boolean isFirst(TableForecasts forecasts) {
    return forecasts.tables().stream()
        .flatMap(table -> table.inputs().stream())
        .map(inputs -> inputs.growth().history())
        .allMatch(history -> history.since().equals(history.last()));
  }

  /** Takes over what was reported until these forecasts, so that later ones can be recomputed. */
  private void adopt(TableForecasts forecasts) {
    String id = forecasts.workloadId();
    store.growths().range(id).keySet().forEach(table -> store.growths().delete(id, table));
    for (TableForecast table : forecasts.tables()) {
      table.inputs().ifPresent(of -> store.growths().put(id, table.table(), of.growth()));
    }
  }

  private ReplayResult result() {
    for (Deque<TableForecasts> waiting : recorded.values()) {
      compareDue(waiting);
      for (TableForecasts forecasts : waiting) {
        if (forecasts.inputs().isPresent()) {
          String missing = "predictions of generation %d are not recorded";
          isEqual(
              forecasts, Optional.of(missing.formatted(forecasts.generation())), () -> forecasts);
        } else {
          withoutInputs++;
        }
      }
    }
    if (withoutInputs > 0) {
      tally.notes.add(
          "%,d forecasts are not recomputed: their planner did not write what it made them from"
              .formatted(withoutInputs));
    }
    return tally.result();
  }
}
