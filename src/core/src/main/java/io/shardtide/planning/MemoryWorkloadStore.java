package io.shardtide.planning;

import io.shardtide.domain.TableSpec;
import io.shardtide.domain.WorkloadState;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;

/** State of the workload step, in memory. */
public final class MemoryWorkloadStore implements WorkloadStore {
  private final Map<String, WorkloadState> headers = new HashMap<>();
  private final Map<String, SortedMap<String, TableSpec>> tables = new HashMap<>();

  /** By workload and event, the generation that the event made. */
  private final Map<String, Map<UUID, Long>> applied = new HashMap<>();

  @Override
  public WorkloadState header(String workloadId) {
    return headers.getOrDefault(workloadId, WorkloadState.NONE);
  }

  @Override
  public void putHeader(String workloadId, WorkloadState header) {
    headers.put(workloadId, header);
  }

  @Override
  public SortedMap<String, TableSpec> tables(String workloadId) {
    return new TreeMap<>(tables.getOrDefault(workloadId, new TreeMap<>()));
  }

  @Override
  public int tableCount(String workloadId) {
    return tables.getOrDefault(workloadId, new TreeMap<>()).size();
  }

  @Override
  public void tablesAdded(String workloadId, int added) {
    // The map knows its size.
  }

  @Override
  public Optional<TableSpec> table(String workloadId, String name) {
    return Optional.ofNullable(tables.getOrDefault(workloadId, new TreeMap<>()).get(name));
  }

  @Override
  public void putTable(String workloadId, TableSpec table) {
    tables.computeIfAbsent(workloadId, id -> new TreeMap<>()).put(table.name(), table);
  }

  @Override
  public void removeTable(String workloadId, String table) {
    tables.get(workloadId).remove(table);
  }

  @Override
  public boolean wasApplied(String workloadId, UUID eventId) {
    Long generation = applied.getOrDefault(workloadId, Map.of()).get(eventId);
    return generation != null
        && header(workloadId).generation() - generation < WorkloadStore.REMEMBERED_EVENTS;
  }

  @Override
  public void putApplied(String workloadId, UUID eventId, long generation) {
    applied.computeIfAbsent(workloadId, id -> new HashMap<>()).put(eventId, generation);
  }
}
