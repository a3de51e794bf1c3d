package io.shardtide.planning;

import io.shardtide.domain.TableSpec;
import io.shardtide.domain.WorkloadState;
import java.util.Optional;
import java.util.SortedMap;
import java.util.UUID;

/** State of the workload step. */
public interface WorkloadStore {
  /**
   * How many ids of a workload's latest events are stored, to detect duplicates. A publisher
   * repeats events within seconds or, after an outage, days; at one change a second this is more
   * than a day, at one an hour eleven years, and it bounds the store.
   */
  long REMEMBERED_EVENTS = 100_000;

  /** Returns the workload's header, {@link WorkloadState#NONE} before its first event. */
  WorkloadState header(String workloadId);

  /** Stores the workload's header. */
  void putHeader(String workloadId, WorkloadState header);

  /** Returns the workload's tables by name. */
  SortedMap<String, TableSpec> tables(String workloadId);

  /** Returns how many tables the workload has. */
  int tableCount(String workloadId);

  /**
   * Reports how many more tables the workload has after {@link #putTable} and {@link #removeTable}:
   * a store that remembers their number need not read them again.
   */
  void tablesAdded(String workloadId, int added);

  /** Returns a table. */
  Optional<TableSpec> table(String workloadId, String name);

  /** Stores a table under its name. */
  void putTable(String workloadId, TableSpec table);

  /** Removes a table. */
  void removeTable(String workloadId, String table);

  /** Returns whether an event was applied to the workload. */
  boolean wasApplied(String workloadId, UUID eventId);

  /** Stores that an event was applied and gave this generation. */
  void putApplied(String workloadId, UUID eventId, long generation);
}
