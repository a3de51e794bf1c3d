package io.shardtide.cost;

/**
 * What a shard of a shape adds to the load of its device. Holds its array without a copy.
 *
 * @param tower the tower's output for the shape, rounded by {@link TowerSums#exact}
 * @param allToAllElements numbers that the shard contributes to the all-to-all of a step, its own
 *     device's part included
 * @param bytes bytes of device memory
 */
@SuppressWarnings("ArrayRecordComponent") // One for each shape of a search, never compared.
public record ShapeLoad(double[] tower, double allToAllElements, long bytes) {
  /**
   * Returns the load of a shape.
   *
   * @throws IllegalArgumentException if the prediction does not cover the shape
   */
  public static ShapeLoad of(TablePrediction prediction, ShardShape shape) {
    return new ShapeLoad(
        TowerSums.exact(prediction.tower(shape)), shape.outputElements(), shape.bytes());
  }
}
