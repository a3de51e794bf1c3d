package io.shardtide.cost;

import io.shardtide.workload.ShardScope;
import java.util.EnumMap;
import java.util.Map;

/**
 * What a device does in a step: the sum of what its shards add. Exact in any order of additions.
 */
public final class DeviceLoad {
  private final double[] towerSum;
  private final Map<ShardScope, Double> elements = new EnumMap<>(ShardScope.class);
  private final long[] memory = new long[Tiers.COUNT];
  private int shards;

  /**
   * A device without shards.
   *
   * @param sumSize length of its sum of towers
   * @param stepBytes bytes of device memory that a step needs without shards: {@link
   *     StepMemory#ofDevice}
   */
  public DeviceLoad(int sumSize, long stepBytes) {
    towerSum = new double[sumSize];
    memory[Tiers.DEVICE] = stepBytes;
  }

  /** Adds a shard. */
  public void add(ShapeLoad shard) {
    TowerSums.add(towerSum, shard.tower());
    shard.elements().forEach((scope, more) -> elements.merge(scope, more, Double::sum));
    Tiers.add(memory, shard.memory(), 1);
    shards++;
  }

  /** Returns the sum of the tower outputs; must not be changed. */
  public double[] towerSum() {
    return towerSum;
  }

  /** Returns the numbers that the shards of a scope contribute to its collectives. */
  double elements(ShardScope scope) {
    return elements.getOrDefault(scope, 0.0);
  }

  /** Returns the bytes of device memory. */
  public long bytes() {
    return bytes(Tiers.DEVICE);
  }

  /** Returns the bytes of one of {@link Tiers}. */
  public long bytes(int tier) {
    return memory[tier];
  }

  /** Returns the number of shards. */
  public int shards() {
    return shards;
  }
}
