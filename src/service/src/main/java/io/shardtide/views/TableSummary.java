package io.shardtide.views;

import io.shardtide.cost.TablePrediction;
import io.shardtide.workload.TableSpec;

/**
 * A table without its use and its predictions at other widths: 100,000 of these take a few dozen
 * megabytes.
 */
final class TableSummary {
  private final TableSpec table;
  private final String modelId;
  private final float[] tower;

  private TableSummary(TableSpec table, String modelId, float[] tower) {
    this.table = table.withoutUse();
    this.modelId = modelId;
    this.tower = tower;
  }

  static TableSummary of(TablePrediction prediction, String modelId) {
    TableSpec table = prediction.table();
    return new TableSummary(table, modelId.intern(), prediction.tower(table.columns()));
  }

  /** Returns the table with its use unknown. */
  TableSpec table() {
    return table;
  }

  /** Returns the model that predicted. */
  String modelId() {
    return modelId;
  }

  /** Returns the tower's output of the whole table; must not be changed. */
  float[] tower() {
    return tower;
  }
}
