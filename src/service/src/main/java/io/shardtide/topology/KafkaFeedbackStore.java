package io.shardtide.topology;

import io.shardtide.domain.AcceptedStatus;
import io.shardtide.domain.FeedbackState;
import io.shardtide.domain.ResidualWindow;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.VersionedTable;
import io.shardtide.learning.FeedbackStore;
import io.shardtide.wire.Codec;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.streams.state.StoreBuilder;

/** Headers, tables, plans and residuals in RocksDB, logged to Kafka; what planning says of them. */
final class KafkaFeedbackStore implements FeedbackStore {
  private final KeyedStore<FeedbackState> headers;
  private final KeyedStore<VersionedTable> tables;
  private final KeyedStore<ShardingPlan> plans;
  private final KeyedStore<ResidualWindow> windows;
  private final LatestRecords<AcceptedStatus> accepted;

  KafkaFeedbackStore(KeyedStore.Opener stores, LatestRecords<AcceptedStatus> accepted) {
    this.accepted = accepted;
    headers = stores.open(StoreName.FEEDBACK_HEADERS);
    tables = stores.open(StoreName.PLANNED_TABLES);
    plans = stores.open(StoreName.MEASURED_PLANS);
    windows = stores.open(StoreName.RESIDUAL_WINDOWS);
  }

  static List<StoreBuilder<?>> builders() {
    return List.of(
        StoreKeys.cached(StoreName.FEEDBACK_HEADERS, Codec.FEEDBACK_HEADER),
        StoreKeys.builder(StoreName.PLANNED_TABLES, Codec.DATED_TABLE),
        StoreKeys.builder(StoreName.MEASURED_PLANS, Codec.SHARDING_PLAN),
        StoreKeys.cached(StoreName.RESIDUAL_WINDOWS, Codec.RESIDUAL_WINDOW));
  }

  @Override
  public FeedbackState header(String workloadId) {
    FeedbackState header = headers.get(workloadId);
    return header == null ? FeedbackState.NONE : header;
  }

  @Override
  public void putHeader(String workloadId, FeedbackState header) {
    headers.put(workloadId, header);
  }

  @Override
  public Optional<AcceptedStatus> accepted(String workloadId) {
    return accepted.of(workloadId);
  }

  @Override
  public Optional<VersionedTable> table(String workloadId, String name) {
    return Optional.ofNullable(tables.get(StoreKeys.of(workloadId, name)));
  }

  @Override
  public void putTable(String workloadId, VersionedTable table) {
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
    windows.removeAll(workloadId);
  }
}
