package io.shardtide.cost;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Optional;

/** Runs the tower of a cost model: when a table changes, not while a search runs. */
public interface TowerPredictor extends AutoCloseable {
  /** Returns the id of the model that predicts. */
  String modelId();

  /** Returns {@link ModelBundle#proxyHardware} of the model that predicts. */
  Optional<String> proxyHardware();

  /**
   * Returns the predictions of tables for parts on one device, in their order.
   *
   * @param tables the tables
   * @param batchSize samples in a batch, over all devices
   */
  List<TablePrediction> predict(List<TableSpec> tables, int batchSize);

  /**
   * Returns the predictions of tables for parts of all kinds, in their order; for parts on one
   * device only if the model does not predict the collectives of the others.
   *
   * @param tables the tables
   * @param cluster the devices and the batch
   */
  List<TablePrediction> predict(List<TableSpec> tables, ClusterSpec cluster);

  /**
   * Returns the tower's output for each shape, in their order.
   *
   * @param shapes shapes of shards of any kind
   */
  List<float[]> towers(List<ShardShape> shapes);

  @Override
  void close();
}
