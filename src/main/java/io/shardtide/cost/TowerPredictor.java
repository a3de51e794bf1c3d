package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Iterator;
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
   * Returns the predictions of tables, in their order, for parts of all kinds in a cluster.
   *
   * @param tables the tables
   * @param cluster the devices and the batch
   */
  default List<TablePrediction> predict(List<TableSpec> tables, ClusterSpec cluster) {
    List<TablePrediction> ofColumns = predict(tables, cluster.batchSize());
    List<ShardShape> shapes = new ArrayList<>();
    for (TableSpec table : tables) {
      TableShapes ofTable = new TableShapes(table, cluster.batchSize());
      SplitTower.parts(table, cluster).forEach(part -> shapes.add(ofTable.of(part, cluster)));
    }
    Iterator<float[]> towers = towers(shapes).iterator();
    return ofColumns.stream()
        .map(
            columns ->
                new TablePrediction(
                    columns.table(),
                    columns.towers(),
                    SplitTower.parts(columns.table(), cluster).stream()
                        .map(part -> new SplitTower(part.scope(), part.columns(), towers.next()))
                        .toList(),
                    columns.outOfRange()))
        .toList();
  }

  /**
   * Returns the tower's output for each shape, in their order.
   *
   * @param shapes shapes of shards of any kind
   */
  List<float[]> towers(List<ShardShape> shapes);

  @Override
  void close();
}
