package io.shardtide.samples;

import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolNode;
import java.util.List;

/**
 * A pool in a file, without its links; the fields are those of {@link Pool}.
 *
 * @param devicesPerNode devices of each node
 * @param memoryBytesPerDevice bytes of memory of each device
 * @param hostMemoryBytesPerDevice bytes of host memory of each device
 * @param hardware name of the hardware
 * @param nodes the nodes
 */
public record PoolSpec(
    int devicesPerNode,
    long memoryBytesPerDevice,
    long hostMemoryBytesPerDevice,
    String hardware,
    List<PoolNode> nodes) {
  /**
   * Returns the pool.
   *
   * @throws io.shardtide.workload.RejectedException if a value is outside its range
   */
  public Pool pool() {
    return Pool.of(devicesPerNode, memoryBytesPerDevice, hostMemoryBytesPerDevice, hardware, nodes);
  }
}
