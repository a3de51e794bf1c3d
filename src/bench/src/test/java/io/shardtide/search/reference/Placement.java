package io.shardtide.search.reference;

import io.shardtide.cost.StepCost;

/**
 * A split with a device for each shard. The cheaper one comes first; of two incomplete ones, the
 * one that leaves fewer bytes without a device.
 *
 * @param split the split
 * @param device device of each shard, -1 for a shard that found no room
 * @param cost predicted cost; null unless complete
 * @param bytes memory that each device fills; null unless complete
 * @param unplacedBytes bytes of the shards that found no room
 */
@SuppressWarnings("ArrayRecordComponent") // The search creates thousands and compares no arrays.
record Placement(ColumnSplit split, int[] device, StepCost cost, long[] bytes, long unplacedBytes)
    implements Comparable<Placement> {

  boolean isComplete() {
    return cost != null;
  }

  /** Returns the cost in milliseconds, infinite unless complete. */
  double predictedMs() {
    return cost == null ? Double.POSITIVE_INFINITY : cost.predictedMs();
  }

  @Override
  public int compareTo(Placement other) {
    int byCost = Double.compare(predictedMs(), other.predictedMs());
    return byCost != 0 ? byCost : Long.compare(unplacedBytes, other.unplacedBytes);
  }
}
