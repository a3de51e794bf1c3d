package io.shardtide.views;

import io.shardtide.cost.TablePrediction;
import io.shardtide.workload.TableSpec;

/**
 * A table without its use and its predictions at other widths: 100,000 of these take a few dozen
 * megabytes.
 *
 * @param table the table with its use unknown
 * @param modelId the model that predicted
 * @param tower the tower's output of the whole table; must not be changed
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
record TableSummary(TableSpec table, String modelId, float[] tower) {
  static TableSummary of(TablePrediction prediction, String modelId) {
    TableSpec table = prediction.table();
    return new TableSummary(
        table.withoutUse(), modelId.intern(), prediction.tower(table.columns()));
  }
}
