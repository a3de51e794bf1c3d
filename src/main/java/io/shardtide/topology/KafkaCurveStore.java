package io.shardtide.topology;

import io.shardtide.allocation.CurveStore;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.pool.CurveHeader;
import io.shardtide.wire.Codec;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;

/** Workloads whose throughput may be requested in RocksDB, logged to Kafka. */
final class KafkaCurveStore implements CurveStore {
  private final KeyValueStore<String, CurveHeader> headers;
  private final KeyValueStore<String, TableSpec> tables;

  KafkaCurveStore(ProcessorContext<?, ?> context) {
    headers = context.getStateStore(StoreName.CURVE_HEADERS.toString());
    tables = context.getStateStore(StoreName.CURVE_TABLES.toString());
  }

  static List<StoreBuilder<?>> builders() {
    return List.of(
        StoreKeys.cached(StoreName.CURVE_HEADERS, Codec.CURVE_HEADER),
        StoreKeys.builder(StoreName.CURVE_TABLES, Codec.TABLE_SPEC));
  }

  /** Returns the workloads of this partition whose throughput is requested. */
  List<String> requested() {
    List<String> requested = new ArrayList<>();
    try (KeyValueIterator<String, CurveHeader> all = headers.all()) {
      all.forEachRemaining(
          entry -> {
            if (entry.value.request().isPresent()) {
              requested.add(entry.key);
            }
          });
    }
    return requested;
  }

  @Override
  public CurveHeader header(String workloadId) {
    CurveHeader header = headers.get(workloadId);
    return header == null ? CurveHeader.NONE : header;
  }

  @Override
  public void putHeader(String workloadId, CurveHeader header) {
    headers.put(workloadId, header);
  }

  @Override
  public List<TableSpec> tables(String workloadId) {
    return StoreKeys.values(tables, workloadId);
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
