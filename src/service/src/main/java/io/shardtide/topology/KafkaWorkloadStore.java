package io.shardtide.topology;

import io.shardtide.domain.TableSpec;
import io.shardtide.domain.WorkloadState;
import io.shardtide.planning.WorkloadStore;
import io.shardtide.wire.Codec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Predicate;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.state.StoreBuilder;

/** Workloads in RocksDB, logged to Kafka. */
final class KafkaWorkloadStore implements WorkloadStore {
  private final KeyedStore<WorkloadState> headers;
  private final KeyedStore<TableSpec> tables;
  private final KeyedStore<String> applied;

  /** Tables of the workloads to which this instance has added any. */
  private final Map<String, Integer> counts = new HashMap<>();

  KafkaWorkloadStore(KeyedStore.Opener stores) {
    headers = stores.open(StoreName.WORKLOAD_HEADERS);
    tables = stores.open(StoreName.WORKLOAD_TABLES);
    applied = stores.open(StoreName.APPLIED_EVENTS);
  }

  static List<StoreBuilder<?>> builders() {
    return List.of(
        StoreKeys.cached(StoreName.WORKLOAD_HEADERS, Codec.WORKLOAD_HEADER),
        StoreKeys.builder(StoreName.WORKLOAD_TABLES, Codec.TABLE_SPEC),
        StoreKeys.builder(StoreName.APPLIED_EVENTS, Serdes.String()));
  }

  /** Returns the workloads of this partition whose headers satisfy a predicate. */
  List<String> workloads(Predicate<WorkloadState> predicate) {
    List<String> ids = new ArrayList<>();
    headers.forEach(
        (id, header) -> {
          if (predicate.test(header)) {
            ids.add(id);
          }
        });
    return ids;
  }

  @Override
  public WorkloadState header(String workloadId) {
    WorkloadState header = headers.get(workloadId);
    return header == null ? WorkloadState.NONE : header;
  }

  @Override
  public void putHeader(String workloadId, WorkloadState header) {
    headers.put(workloadId, header);
  }

  @Override
  public SortedMap<String, TableSpec> tables(String workloadId) {
    SortedMap<String, TableSpec> byName = new TreeMap<>();
    tables.values(workloadId).forEach(table -> byName.put(table.name(), table));
    return byName;
  }

  @Override
  public int tableCount(String workloadId) {
    return counts.computeIfAbsent(workloadId, id -> tables.values(id).size());
  }

  @Override
  public void tablesAdded(String workloadId, int added) {
    counts.computeIfPresent(workloadId, (id, count) -> count + added);
  }

  @Override
  public Optional<TableSpec> table(String workloadId, String name) {
    return Optional.ofNullable(tables.get(StoreKeys.of(workloadId, name)));
  }

  @Override
  public void putTable(String workloadId, TableSpec table) {
    tables.put(StoreKeys.of(workloadId, table.name()), table);
  }

  @Override
  public void removeTable(String workloadId, String table) {
    tables.delete(StoreKeys.of(workloadId, table));
  }

  @Override
  public boolean wasApplied(String workloadId, UUID eventId) {
    return applied.get(StoreKeys.of(workloadId, eventId.toString())) != null;
  }

  @Override
  public void putApplied(String workloadId, UUID eventId, long generation) {
    applied.put(StoreKeys.of(workloadId, eventId.toString()), Long.toString(generation));
    applied.put(generationKey(workloadId, generation), eventId.toString());
    // Deleting a missing key would still write a tombstone to the changelog.
    if (generation > REMEMBERED_EVENTS) {
      String forgotten = applied.delete(generationKey(workloadId, generation - REMEMBERED_EVENTS));
      if (forgotten != null) {
        applied.delete(StoreKeys.of(workloadId, forgotten));
      }
    }
  }

  private static String generationKey(String workloadId, long generation) {
    return StoreKeys.of(workloadId, "generation " + generation);
  }
}
