package io.shardtide.cost;

import io.shardtide.domain.TableSpec;
import java.util.List;

/** Runs the tower of a cost model: when a table changes, not while a search runs. */
public interface TowerPredictor extends AutoCloseable {
  /** Returns the id of the model that predicts. */
  String modelId();

  /**
   * Returns the predictions of tables, in their order.
   *
   * @param tables the tables
   * @param batchSize samples in a batch, over all devices
   */
  List<TablePrediction> predict(List<TableSpec> tables, int batchSize);

  /**
   * Returns the tower's output for each shape, in their order.
   *
   * @param shapes shapes of shards of any kind
   */
  List<float[]> towers(List<ShardShape> shapes);

  @Override
  void close();
}
