package io.shardtide.topology;

import io.shardtide.cost.VersionedPrediction;
import io.shardtide.domain.PlanningState;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.planning.PlanningStore;
import io.shardtide.wire.Codec;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * Headers, predicted tables and plans in RocksDB, logged to Kafka. The plan that a trainer moved
 * from is beside its header: version 0.2.0 could not read a header that has another field.
 */
final class KafkaPlanningStore implements PlanningStore {
  private final KeyedStore<PlanningState> headers;
  private final KeyedStore<VersionedPrediction> tables;
  private final KeyedStore<ShardingPlan> plans;

  /** By the adopted plan. */
  private final KeyedStore<String> movedFrom;

  KafkaPlanningStore(KeyedStore.Opener stores) {
    headers = stores.open(StoreName.PLANNING_HEADERS);
    tables = stores.open(StoreName.PREDICTED_TABLES);
    plans = stores.open(StoreName.REMEMBERED_PLANS);
    movedFrom = stores.open(StoreName.MOVED_FROM);
  }

  static List<StoreBuilder<?>> builders() {
    return List.of(
        StoreKeys.cached(StoreName.PLANNING_HEADERS, Codec.PLANNING_HEADER),
        StoreKeys.builder(StoreName.PREDICTED_TABLES, Codec.DATED_PREDICTION),
        StoreKeys.builder(StoreName.REMEMBERED_PLANS, Codec.SHARDING_PLAN),
        StoreKeys.builder(StoreName.MOVED_FROM, Serdes.String()));
  }

  /** Calls an action with the header of each workload of this partition. */
  void forEachHeader(BiConsumer<String, PlanningState> action) {
    headers.forEach((id, header) -> action.accept(id, whole(id, header)));
  }

  @Override
  public PlanningState header(String workloadId) {
    PlanningState header = headers.get(workloadId);
    return header == null ? PlanningState.NONE : whole(workloadId, header);
  }

  private PlanningState whole(String workloadId, PlanningState header) {
    return header
        .plans()
        .adopted()
        .map(adopted -> movedFrom.get(StoreKeys.of(workloadId, adopted)))
        .map(from -> header.with(header.plans().movedFrom(from)))
        .orElse(header);
  }

  @Override
  public void putHeader(String workloadId, PlanningState header) {
    headers.put(workloadId, header);
    header
        .plans()
        .adopted()
        .ifPresent(
            adopted -> putMovedFrom(StoreKeys.of(workloadId, adopted), header.plans().movedFrom()));
  }

  @Override
  public List<VersionedPrediction> tables(String workloadId) {
    return tables.values(workloadId);
  }

  @Override
  public Optional<VersionedPrediction> table(String workloadId, String name) {
    return Optional.ofNullable(tables.get(StoreKeys.of(workloadId, name)));
  }

  @Override
  public void putTable(String workloadId, VersionedPrediction table) {
    tables.put(StoreKeys.of(workloadId, table.prediction().table().name()), table);
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
    putMovedFrom(StoreKeys.of(workloadId, planId), Optional.empty());
  }

  private void putMovedFrom(String adopted, Optional<String> from) {
    if (from.isPresent()) {
      movedFrom.put(adopted, from.get());
    } else if (movedFrom.get(adopted) != null) {
      movedFrom.delete(adopted);
    }
  }
}
