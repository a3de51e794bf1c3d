package io.shardtide.topology;

import io.shardtide.domain.DatedTable;
import io.shardtide.domain.FeedbackHeader;
import io.shardtide.domain.ResidualWindow;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.learning.FeedbackStore;
import io.shardtide.wire.Codec;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;

/** Headers, tables, plans and residuals in RocksDB, logged to Kafka. */
final class KafkaFeedbackStore implements FeedbackStore {
  private final KeyValueStore<String, FeedbackHeader> headers;
  private final KeyValueStore<String, DatedTable> tables;
  private final KeyValueStore<String, ShardingPlan> plans;
  private final KeyValueStore<String, ResidualWindow> windows;

  KafkaFeedbackStore(ProcessorContext<?, ?> context) {
    headers = context.getStateStore(StoreName.FEEDBACK_HEADERS.toString());
    tables = context.getStateStore(StoreName.PLANNED_TABLES.toString());
    plans = context.getStateStore(StoreName.MEASURED_PLANS.toString());
    windows = context.getStateStore(StoreName.RESIDUAL_WINDOWS.toString());
  }

  static List<StoreBuilder<?>> builders() {
    return List.of(
        StoreKeys.cached(StoreName.FEEDBACK_HEADERS, Codec.FEEDBACK_HEADER),
        StoreKeys.builder(StoreName.PLANNED_TABLES, Codec.DATED_TABLE),
        StoreKeys.builder(StoreName.MEASURED_PLANS, Codec.SHARDING_PLAN),
        StoreKeys.cached(StoreName.RESIDUAL_WINDOWS, Codec.RESIDUAL_WINDOW));
  }

  @Override
  public FeedbackHeader header(String workloadId) {
    FeedbackHeader header = headers.get(workloadId);
    return header == null ? FeedbackHeader.NONE : header;
  }

  @Override
  public void putHeader(String workloadId, FeedbackHeader header) {
    headers.put(workloadId, header);
  }

  @Override
  public Optional<DatedTable> table(String workloadId, String name) {
    return Optional.ofNullable(tables.get(StoreKeys.of(workloadId, name)));
  }

  @Override
  public void putTable(String workloadId, DatedTable table) {
    tables.put(StoreKeys.of(workloadId, table.table().name()), table);
  }

  @Override
  public void removeTable(String workloadId, String name) {
    tables.delete(StoreKeys.of(workloadId, name));
  }

  @Override
  public Optional<ShardingPlan> plan(String workloadId, String planId) {
    return Optional.ofNullable(plans.get(StoreKeys.of(workloadId, planId)));
  }

  @Override
  public void putPlan(ShardingPlan plan) {
    plans.put(StoreKeys.of(plan.workloadId(), plan.planId()), plan);
  }

  @Override
  public void removePlan(String workloadId, String planId) {
    plans.delete(StoreKeys.of(workloadId, planId));
  }

  @Override
  public Optional<ResidualWindow> window(String workloadId, String series) {
    return Optional.ofNullable(windows.get(StoreKeys.of(workloadId, series)));
  }

  @Override
  public void putWindow(String workloadId, String series, ResidualWindow window) {
    windows.put(StoreKeys.of(workloadId, series), window);
  }

  @Override
  public void removeWindows(String workloadId) {
    StoreKeys.removeAll(windows, workloadId);
  }
}
