package io.shardtide.topology;

import io.shardtide.allocation.CurveStore;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.pool.CurveState;
import io.shardtide.wire.Codec;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.streams.state.StoreBuilder;

/** Workloads whose throughput may be requested in RocksDB, logged to Kafka. */
final class KafkaCurveStore implements CurveStore {
  private final KeyedStore<CurveState> headers;
  private final KeyedStore<TableSpec> tables;

  KafkaCurveStore(KeyedStore.Opener stores) {
    headers = stores.open(StoreName.CURVE_HEADERS);
    tables = stores.open(StoreName.CURVE_TABLES);
  }

  static List<StoreBuilder<?>> builders() {
    return List.of(
        StoreKeys.cached(StoreName.CURVE_HEADERS, Codec.CURVE_HEADER),
        StoreKeys.builder(StoreName.CURVE_TABLES, Codec.TABLE_SPEC));
  }

  /** Returns the workloads of this partition whose throughput is requested. */
  List<String> requested() {
    List<String> requested = new ArrayList<>();
    headers.forEach(
        (id, header) -> {
          if (header.request().isPresent()) {
            requested.add(id);
          }
        });
    return requested;
  }

  @Override
  public CurveState header(String workloadId) {
    CurveState header = headers.get(workloadId);
    return header == null ? CurveState.NONE : header;
  }

  @Override
  public void putHeader(String workloadId, CurveState header) {
    headers.put(workloadId, header);
  }

  @Override
  public List<TableSpec> tables(String workloadId) {
    return tables.values(workloadId);
  }

  @Override
  public void putTable(String workloadId, TableSpec table) {
    String key = StoreKeys.of(workloadId, table.name());
    // A new model predicts all tables again; they are the same.
    if (!table.equals(tables.get(key))) {
      tables.put(key, table);
    }
  }

  @Override
  public void removeTable(String workloadId, String name) {
    tables.delete(StoreKeys.of(workloadId, name));
  }
}
