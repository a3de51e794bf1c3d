package io.shardtide.views;

import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerSums;
import io.shardtide.domain.TableSpec;

/**
 * A table without its reuse histogram and its predictions at other widths: 100,000 of these take a
 * few dozen megabytes.
 */
final class TableSummary {
  private final long rows;
  private final int columns;
  private final double poolingFactor;
  private final double bytesPerElement;
  private final String modelId;
  private final float[] tower;

  private TableSummary(TableSpec table, String modelId, float[] tower) {
    rows = table.rows();
    columns = table.columns();
    poolingFactor = table.poolingFactor();
    bytesPerElement = table.bytesPerElement();
    this.modelId = modelId;
    this.tower = tower;
  }

  static TableSummary of(TablePrediction prediction, String modelId) {
    TableSpec table = prediction.table();
    return new TableSummary(table, modelId.intern(), prediction.tower(table.columns()));
  }

  long rows() {
    return rows;
  }

  int columns() {
    return columns;
  }

  double poolingFactor() {
    return poolingFactor;
  }

  double bytesPerElement() {
    return bytesPerElement;
  }

  /** Returns the model that predicted. */
  String modelId() {
    return modelId;
  }

  /** Returns the tower output of the whole table, to be summed. */
  double[] sum() {
    return TowerSums.exact(tower);
  }

  /** Returns the bytes of some rows and columns of the table, rounded up. */
  long bytes(long someRows, int someColumns) {
    return (long) Math.ceil((double) someRows * someColumns * bytesPerElement);
  }
}
