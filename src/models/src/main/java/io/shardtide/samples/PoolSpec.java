package io.shardtide.samples;

import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolNode;
import java.util.List;
import java.util.Optional;

/**
 * A pool in a file; the fields are those of {@link Pool}.
 *
 * @param devicesPerNode devices of each node
 * @param memoryBytesPerDevice bytes of memory of each device
 * @param hostMemoryBytesPerDevice bytes of host memory of each device
 * @param hardware name of the hardware
 * @param nodes the nodes
 * @param links measured bandwidth between the nodes
 */
public record PoolSpec(
    int devicesPerNode,
    long memoryBytesPerDevice,
    long hostMemoryBytesPerDevice,
    String hardware,
    List<PoolNode> nodes,
    Optional<Links> links) {
  /**
   * Bandwidth in GB/s: of racks, or of pairs of nodes.
   *
   * @param withinRacks of two nodes of a rack; 0 for those of pairs
   * @param betweenRacks of two racks; 0 for those of pairs
   * @param racks pairs of racks that have another one
   * @param nodes names of the nodes of the matrix
   * @param matrix for each node a row with its bandwidth to each
   */
  public record Links(
      double withinRacks,
      double betweenRacks,
      List<RackLink> racks,
      List<String> nodes,
      List<List<Double>> matrix) {}

  /**
   * Bandwidth of a pair of racks, or within one.
   *
   * @param rack a rack
   * @param otherRack the same or another one
   * @param gigabytesPerSecond in 10^9 bytes a second
   */
  public record RackLink(String rack, String otherRack, double gigabytesPerSecond) {}

  /**
   * Returns the pool without its links.
   *
   * @throws io.shardtide.workload.RejectedException if a value is outside its range
   */
  public Pool pool() {
    return Pool.of(devicesPerNode, memoryBytesPerDevice, hostMemoryBytesPerDevice, hardware, nodes);
  }
}
