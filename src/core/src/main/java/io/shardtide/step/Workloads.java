package io.shardtide.step;

import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadState;
import java.util.HashMap;
import java.util.Map;

/** State of the workload step: tables and applied events. */
public final class Workloads extends WorkloadTables<WorkloadState, TableSpec> {
  private final AppliedEvents applied;

  /** Tables of the workloads to which this instance has added any. */
  private final Map<String, Integer> counts = new HashMap<>();

  /** The applied events are as {@link AppliedEvents} stores them. */
  public Workloads(
      KeyValues<WorkloadState> headers, KeyValues<TableSpec> tables, KeyValues<String> applied) {
    super(
        headers, WorkloadState.NONE, tables, (before, predicted, generation) -> predicted.table());
    this.applied = new AppliedEvents(applied);
  }

  /** Returns an empty state in memory. */
  public static Workloads inMemory() {
    return new Workloads(new MemoryKeyValues<>(), new MemoryKeyValues<>(), new MemoryKeyValues<>());
  }

  AppliedEvents applied() {
    return applied;
  }

  int tableCount(String workloadId) {
    return counts.computeIfAbsent(workloadId, id -> tables().range(id).size());
  }

  /** Reports how many tables were put and deleted: they are not counted again. */
  void tablesAdded(String workloadId, int added) {
    counts.computeIfPresent(workloadId, (id, count) -> count + added);
  }
}
