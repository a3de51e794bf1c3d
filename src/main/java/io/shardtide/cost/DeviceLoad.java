package io.shardtide.cost;

/**
 * What a device does in a step: the sum of what its shards add. Exact in any order of additions.
 */
public final class DeviceLoad {
  private final double[] towerSum;
  private double allToAllElements;
  private long bytes;
  private int shards;

  /**
   * A device without shards.
   *
   * @param towerSize length of a tower's output
   */
  public DeviceLoad(int towerSize) {
    towerSum = new double[towerSize];
  }

  /** Adds a shard. */
  public void add(ShapeLoad shard) {
    TowerSums.add(towerSum, shard.tower());
    allToAllElements += shard.allToAllElements();
    bytes += shard.bytes();
    shards++;
  }

  /** Returns the sum of the tower outputs; must not be changed. */
  public double[] towerSum() {
    return towerSum;
  }

  /** Returns the numbers that the device contributes to the all-to-all, its own part included. */
  public double allToAllElements() {
    return allToAllElements;
  }

  /** Returns the bytes of device memory. */
  public long bytes() {
    return bytes;
  }

  /** Returns the number of shards. */
  public int shards() {
    return shards;
  }
}
