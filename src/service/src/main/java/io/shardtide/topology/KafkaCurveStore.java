package io.shardtide.topology;

import io.shardtide.allocation.CurveStore;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.pool.CurveState;
import java.util.List;
import java.util.Optional;

/** Workloads whose throughput may be requested in RocksDB, logged to Kafka. */
final class KafkaCurveStore implements CurveStore {
  private final KeyedStore<CurveState> headers;
  private final KeyedStore<TableSpec> tables;

  KafkaCurveStore(KeyedStore.Opener stores) {
    headers = stores.open(StoreName.CURVE_HEADERS);
    tables = stores.open(StoreName.CURVE_TABLES);
  }

  /** Returns the workloads of this partition whose throughput is requested. */
  List<String> requested() {
    return headers.workloads().stream().filter(id -> header(id).request().isPresent()).toList();
  }

  @Override
  public CurveState header(String workloadId) {
    return headers.get(workloadId, "").orElse(CurveState.NONE);
  }

  @Override
  public void putHeader(String workloadId, CurveState header) {
    headers.put(workloadId, "", header);
  }

  @Override
  public List<TableSpec> tables(String workloadId) {
    return List.copyOf(tables.range(workloadId).values());
  }

  @Override
  public void putTable(String workloadId, TableSpec table) {
    // A new model predicts all tables again; they are the same.
    if (!tables.get(workloadId, table.name()).equals(Optional.of(table))) {
      tables.put(workloadId, table.name(), table);
    }
  }

  @Override
  public void removeTable(String workloadId, String name) {
    tables.delete(workloadId, name);
  }
}
