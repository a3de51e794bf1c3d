package io.shardtide.topology;

import io.shardtide.domain.TableSpec;
import io.shardtide.growth.GrowthState;
import io.shardtide.growth.GrowthStore;
import io.shardtide.growth.TableGrowth;
import io.shardtide.wire.Codec;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.kafka.streams.state.StoreBuilder;

/** Headers, tables and what was reported of them in RocksDB, logged to Kafka. */
final class KafkaGrowthStore implements GrowthStore {
  private final KeyedStore<GrowthState> headers;
  private final KeyedStore<TableSpec> tables;
  private final KeyedStore<TableGrowth> growths;

  KafkaGrowthStore(KeyedStore.Opener stores) {
    headers = stores.open(StoreName.GROWTH_HEADERS);
    tables = stores.open(StoreName.GROWTH_TABLES);
    growths = stores.open(StoreName.REPORTED_FILLS);
  }

  static List<StoreBuilder<?>> builders() {
    return List.of(
        StoreKeys.cached(StoreName.GROWTH_HEADERS, Codec.GROWTH_HEADER),
        StoreKeys.builder(StoreName.GROWTH_TABLES, Codec.TABLE_SPEC),
        StoreKeys.cached(StoreName.REPORTED_FILLS, Codec.TABLE_GROWTH));
  }

  void forEachWorkload(Consumer<String> action) {
    headers.forEach((workloadId, header) -> action.accept(workloadId));
  }

  @Override
  public GrowthState header(String workloadId) {
    GrowthState header = headers.get(workloadId);
    return header == null ? GrowthState.NONE : header;
  }

  @Override
  public void putHeader(String workloadId, GrowthState header) {
    headers.put(workloadId, header);
  }

  @Override
  public Optional<TableSpec> table(String workloadId, String name) {
    return Optional.ofNullable(tables.get(StoreKeys.of(workloadId, name)));
  }

  @Override
  public SortedMap<String, TableSpec> tables(String workloadId) {
    return all(tables, workloadId);
  }

  private static <V> SortedMap<String, V> all(KeyedStore<V> store, String workloadId) {
    SortedMap<String, V> all = new TreeMap<>();
    int prefix = StoreKeys.of(workloadId, "").length();
    store.forEach(workloadId, entry -> all.put(entry.key.substring(prefix), entry.value));
    return all;
  }

  @Override
  public void putTable(String workloadId, TableSpec table) {
    tables.put(StoreKeys.of(workloadId, table.name()), table);
  }

  @Override
  public void removeTable(String workloadId, String name) {
    tables.delete(StoreKeys.of(workloadId, name));
  }

  @Override
  public Optional<TableGrowth> growth(String workloadId, String table) {
    return Optional.ofNullable(growths.get(StoreKeys.of(workloadId, table)));
  }

  @Override
  public SortedMap<String, TableGrowth> growths(String workloadId) {
    return all(growths, workloadId);
  }

  @Override
  public void putGrowth(String workloadId, String table, TableGrowth growth) {
    growths.put(StoreKeys.of(workloadId, table), growth);
  }

  @Override
  public boolean removeGrowth(String workloadId, String table) {
    String key = StoreKeys.of(workloadId, table);
    return growths.get(key) != null && growths.delete(key) != null;
  }
}
