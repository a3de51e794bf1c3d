package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;

/**
 * What a shard of a shape adds to the load of its device. Holds its array without a copy.
 *
 * @param tower the tower's output for the shape, rounded by {@link TowerSums#exact}
 * @param scope which devices the shard involves
 * @param elements numbers that the shard contributes to the collectives of its scope: outputs times
 *     columns, or rows times columns of a copy
 * @param bytes bytes of device memory
 */
@SuppressWarnings("ArrayRecordComponent") // One for each shape of a search, never compared.
public record ShapeLoad(double[] tower, ShardScope scope, double elements, long bytes) {

  /** Returns the load of some columns of a table with all rows, on one device. */
  public static ShapeLoad ofColumns(TablePrediction prediction, int columns, ClusterSpec cluster) {
    TableSpec table = prediction.table();
    double outputs = cluster.batchSize();
    return new ShapeLoad(
        TowerSums.exact(prediction.tower(columns)),
        ShardScope.DEVICE,
        outputs * columns,
        new ShardMemory(table.rows(), columns, outputs, outputs * table.poolingFactor(), false)
            .bytes(table, cluster));
  }

  /**
   * Returns the load of a shard of a table.
   *
   * @param tower the tower's output for its shape
   */
  public static ShapeLoad of(
      float[] tower, TableSpec table, ShardShape shape, ShardScope scope, ClusterSpec cluster) {
    return new ShapeLoad(
        TowerSums.exact(tower),
        scope,
        scope == ShardScope.COPIES
            ? (double) shape.rows() * shape.columns()
            : shape.outputElements(),
        new ShardMemory(
                shape.rows(), shape.columns(), shape.outputs(), shape.lookups(), shape.replicated())
            .bytes(table, cluster));
  }

  /** Returns the load of a split or copied part of a table on each of its devices. */
  public static ShapeLoad of(SplitTower split, TableSpec table, ClusterSpec cluster) {
    int devices = split.scope().devices(cluster);
    boolean copied = split.scope() == ShardScope.COPIES;
    long rows = split.rows(table, cluster);
    double outputs = copied ? (double) cluster.batchSize() / devices : cluster.batchSize();
    double lookups = outputs * table.poolingFactor() * (rows / (double) table.rows());
    return new ShapeLoad(
        TowerSums.exact(split.tower()),
        split.scope(),
        (copied ? rows : outputs) * split.columns(),
        new ShardMemory(rows, split.columns(), outputs, lookups, copied).bytes(table, cluster));
  }

  /** Returns this load and another one of the same scope together. */
  public ShapeLoad plus(ShapeLoad other) {
    double[] sum = tower.clone();
    for (int k = 0; k < sum.length; k++) {
      sum[k] += other.tower[k];
    }
    return new ShapeLoad(sum, scope, elements + other.elements, bytes + other.bytes);
  }
}
