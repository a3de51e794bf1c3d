package io.shardtide.growth;

import io.shardtide.domain.TableSpec;
import java.util.Optional;
import java.util.SortedMap;

/** The state of {@link GrowthStep}, by workload. */
public interface GrowthStore {
  /** Returns the workload's header, {@link GrowthState#NONE} before its first prediction. */
  GrowthState header(String workloadId);

  /** Stores the workload's header. */
  void putHeader(String workloadId, GrowthState header);

  /** Returns a table, if stored. */
  Optional<TableSpec> table(String workloadId, String name);

  /** Returns a workload's tables by their names. */
  SortedMap<String, TableSpec> tables(String workloadId);

  /** Stores a table under its name. */
  void putTable(String workloadId, TableSpec table);

  /** Removes a table. */
  void removeTable(String workloadId, String name);

  /** Returns what was reported of a table, if anything was. */
  Optional<TableGrowth> growth(String workloadId, String table);

  /** Returns what was reported of a workload's tables, by their names. */
  SortedMap<String, TableGrowth> growths(String workloadId);

  /** Stores what was reported of a table. */
  void putGrowth(String workloadId, String table, TableGrowth growth);

  /** Removes what was reported of a table; returns whether anything was. */
  boolean removeGrowth(String workloadId, String table);
}
