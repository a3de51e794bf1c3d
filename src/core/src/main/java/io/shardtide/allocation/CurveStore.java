package io.shardtide.allocation;

import io.shardtide.domain.TableSpec;
import io.shardtide.domain.pool.CurveState;
import java.util.List;

/** Workloads and their tables, as {@link CurveStep} keeps them. */
public interface CurveStore {
  /** Returns the state of a workload; {@link CurveState#NONE} if nothing is known of it. */
  CurveState header(String workloadId);

  /** Stores the state of a workload. */
  void putHeader(String workloadId, CurveState header);

  /** Returns the tables of a workload, in any order. */
  List<TableSpec> tables(String workloadId);

  /** Stores a table. */
  void putTable(String workloadId, TableSpec table);

  /** Removes a table, if there is one of that name. */
  void removeTable(String workloadId, String name);
}
