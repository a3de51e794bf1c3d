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
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import io.shardtide.workload.SourcePosition;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.streams.Topology;

/**
 * table-fills to table-forecasts, current-forecasts, workload-changes and infeasible-workloads:
 * forecasts how full hashed tables will be, gives them other capacities before they are full, and
 * announces workloads that memory will not hold. Tables and clusters are those of cost-predictions.
 */
public final class GrowthTopology {
  private GrowthTopology() {}

  /**
   * Builds the topology; nothing runs yet.
   *
   * @param topics where to read and write
   * @param registry schemas of the records
   * @param step forecasts and decides
   * @param metrics shows forecasts, and counts resizes and rejections
   * @param retry waits while the registry is unavailable
   */
  public static Topology build(
      Topics topics,
      Registry registry,
      GrowthStep step,
      PlannerMetrics metrics,
      RegistryRetry retry) {
    return new SingleProcessorTopology(TopologyName.GROWTH, registry, topics, metrics, retry)
        .reads(NodeName.READ_PREDICTIONS, topics.of(COST_PREDICTIONS))
        .reads(NodeName.READ_FILLS, topics.of(TABLE_FILLS))
        .writes(NodeName.WRITE_FORECASTS, topics.of(TABLE_FORECASTS))
        .writes(NodeName.WRITE_CURRENT_FORECASTS, topics.of(CURRENT_FORECASTS))
        .writes(NodeName.WRITE_CHANGES, topics.of(WORKLOAD_CHANGES))
        .writes(NodeName.WRITE_INFEASIBLE, topics.of(INFEASIBLE_WORKLOADS))
        .build(
            NodeName.FORECAST_TABLES,
            skeleton -> new ForecastTables(skeleton, topics, step, metrics));
  }

  private static final class ForecastTables extends KeyedProcessor {
    private final GrowthStep step;
    private final PlannerMetrics metrics;
    private GrowthTables store;

    /** The latest forecasts by workload, for metrics. */
    private final Map<String, TableForecasts> shown = new ConcurrentHashMap<>();

    ForecastTables(Skeleton skeleton, Topics topics, GrowthStep step, PlannerMetrics metrics) {
      super(skeleton);
      this.step = step;
      this.metrics = metrics;
      // Planning reads these too, and rejects invalid ones.
      on(topics.of(COST_PREDICTIONS), this::onPredictions)
          .skippingInvalid()
          .gapless()
          .deletedBy(CostPredictions::isDeletion);
      on(topics.of(TABLE_FILLS), this::report);
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
        forward(part.workloadId(), null, timestamp, NodeName.WRITE_CURRENT_FORECASTS);
        written();
      }
    }

    private void report(FillReport report, SourcePosition source, long timestamp) {
      GrowthStep.Growth growth = step.report(store, report, timestamp);
      String id = report.workloadId();
      forward(id, growth.forecasts(), timestamp, NodeName.WRITE_FORECASTS);
      forward(id, growth.forecasts(), timestamp, NodeName.WRITE_CURRENT_FORECASTS);
      growth.change().ifPresent(change -> forward(id, change, timestamp, NodeName.WRITE_CHANGES));
      growth
          .warning()
          .map(
              warning ->
                  new InfeasibleWorkload(
                      id, 0, source, "", warning.shortfall(), Optional.of(warning.time())))
          .ifPresent(infeasible -> forward(id, infeasible, timestamp, NodeName.WRITE_INFEASIBLE));
      shown.put(id, growth.forecasts());
      metrics.count(Metric.FILL_REPORTS);
      metrics.add(Metric.TABLES_RESIZED, growth.forecasts().resizes().size());
      written();
    }
  }
}
