package io.shardtide.cost;

import io.shardtide.domain.TableSpec;
import java.util.List;

/**
 * Predicts tables one by one: the part of a cost model that runs when a table changes, not while a
 * search runs.
 */
public interface TowerPredictor extends AutoCloseable {
  /** Returns the id of the model that predicts. */
  String modelId();

  /**
   * Returns the prediction of each table at each legal width, in the order of the tables.
   *
   * @param tables the tables
   * @param batchSize samples in a batch, over all devices
   */
  List<TablePrediction> predict(List<TableSpec> tables, int batchSize);

  @Override
  void close();
}
