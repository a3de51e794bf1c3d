package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_FORECASTS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.TABLE_FORECASTS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.CostPredictions;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.GrowthTables;
import io.shardtide.growth.Range;
import io.shardtide.growth.TableForecasts;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.workload.SourcePosition;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * table-fills to table-forecasts, current-forecasts, workload-changes and infeasible-workloads:
 * forecasts how full hashed tables will be, gives them other capacities before they are full, and
 * announces workloads that memory will not hold. Tables and clusters are those of cost-predictions.
 */
final class GrowthTopology extends KeyedProcessor {
  private final GrowthStep step;
  private GrowthTables store;

  /** The latest forecasts by workload, for metrics. */
  private final Map<String, TableForecasts> shown = new ConcurrentHashMap<>();

  /**
   * @param step forecasts and decides
   */
  GrowthTopology(Skeleton skeleton, GrowthStep step) {
    super(skeleton);
    this.step = step;
    on(COST_PREDICTIONS, this::onPredictions).gapless().deletedBy(CostPredictions::isDeletion);
    on(TABLE_FILLS, this::report);
  }

  @Override
  void open(KeyedStore.Opener stores) {
    store =
        new GrowthTables(
            stores.open(StoreName.GROWTH_HEADERS),
            stores.open(StoreName.GROWTH_TABLES),
            stores.open(StoreName.REPORTED_FILLS));
    show(
        Metric.TABLE_DAYS_UNTIL_FULL,
        () ->
            shown.values().stream()
                .flatMap(forecasts -> forecasts.tables().stream())
                .flatMap(table -> table.daysUntilFull().stream())
                .mapToDouble(Range::low));
    show(
        Metric.MEMORY_DAYS_UNTIL_FULL,
        () ->
            shown.values().stream()
                .flatMap(forecasts -> forecasts.memoryEnd().stream())
                .mapToDouble(end -> end.days().median()));
  }

  /** Shows what was forecast before: the alerts must not end with a restart. */
  @Override
  void resume() {
    store.workloads().forEach(id -> isolate(id, "latest forecasts", () -> resume(id)));
  }

  @Override
  void resume(String workloadId) {
    step.latest(store, workloadId).ifPresent(latest -> shown.put(workloadId, latest));
  }

  private void onPredictions(CostPredictions part, SourcePosition source, long timestamp) {
    if (step.onPredictions(store, part)) {
      shown.remove(part.workloadId());
      forward(part.workloadId(), null, timestamp, CURRENT_FORECASTS);
      written();
    }
  }

  private void report(FillReport report, SourcePosition source, long timestamp) {
    GrowthStep.Growth growth = step.report(store, report, timestamp);
    String id = report.workloadId();
    forward(id, growth.forecasts(), timestamp, TABLE_FORECASTS);
    forward(id, growth.forecasts(), timestamp, CURRENT_FORECASTS);
    growth.change().ifPresent(change -> forward(id, change, timestamp, WORKLOAD_CHANGES));
    growth
        .warning()
        .map(
            warning ->
                new InfeasibleWorkload(
                    id, 0, source, "", warning.shortfall(), Optional.of(warning.time())))
        .ifPresent(infeasible -> forward(id, infeasible, timestamp, INFEASIBLE_WORKLOADS));
    shown.put(id, growth.forecasts());
    metrics.count(Metric.FILL_REPORTS);
    metrics.add(Metric.TABLES_RESIZED, growth.forecasts().resizes().size());
    written();
  }
}
