package io.shardtide.growth;

import io.shardtide.step.KeyValues;
import io.shardtide.step.MemoryKeyValues;
import io.shardtide.step.WorkloadTables;
import io.shardtide.workload.TableSpec;

/** State of the growth step: tables, and what was reported of them. */
public final class GrowthTables extends WorkloadTables<GrowthState, TableSpec> {
  private final KeyValues<TableGrowth> growths;

  public GrowthTables(
      KeyValues<GrowthState> headers, KeyValues<TableSpec> tables, KeyValues<TableGrowth> growths) {
    super(headers, GrowthState.NONE, tables, (before, predicted, generation) -> predicted.table());
    this.growths = growths;
  }

  /** Returns an empty state in memory. */
  public static GrowthTables inMemory() {
    return new GrowthTables(
        new MemoryKeyValues<>(), new MemoryKeyValues<>(), new MemoryKeyValues<>());
  }

  /** Returns what was reported, by the names of the tables. */
  public KeyValues<TableGrowth> growths() {
    return growths;
  }
}
