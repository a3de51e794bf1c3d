package io.shardtide.topology;

import io.shardtide.cost.DatedPrediction;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.planning.PlanningStore;
import io.shardtide.wire.Codec;
import io.shardtide.wire.StoreSerdes;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/** Predicted tables and latest plans in RocksDB, logged to Kafka. */
final class KafkaPlanningStore implements PlanningStore {
  private static final String TABLES = "predicted-tables";
  private static final String PLANS = "latest-plans";

  private final KeyValueStore<String, DatedPrediction> tables;
  private final KeyValueStore<String, ShardingPlan> plans;

  KafkaPlanningStore(ProcessorContext<?, ?> context) {
    tables = context.getStateStore(TABLES);
    plans = context.getStateStore(PLANS);
  }

  static List<StoreBuilder<?>> builders() {
    return List.of(
        Stores.keyValueStoreBuilder(
            Stores.persistentKeyValueStore(TABLES),
            Serdes.String(),
            StoreSerdes.of(Codec.DATED_PREDICTION)),
        Stores.keyValueStoreBuilder(
            Stores.persistentKeyValueStore(PLANS),
            Serdes.String(),
            StoreSerdes.of(Codec.SHARDING_PLAN)));
  }

  @Override
  public List<DatedPrediction> tables(String workloadId) {
    return StoreKeys.values(tables, workloadId);
  }

  @Override
  public void putTable(String workloadId, DatedPrediction table) {
    tables.put(StoreKeys.of(workloadId, table.prediction().table().name()), table);
  }

  @Override
  public void removeTable(String workloadId, String table) {
    tables.delete(StoreKeys.of(workloadId, table));
  }

  @Override
  public Optional<ShardingPlan> plan(String workloadId) {
    return Optional.ofNullable(plans.get(workloadId));
  }

  @Override
  public void putPlan(ShardingPlan plan) {
    plans.put(plan.workloadId(), plan);
  }
}
