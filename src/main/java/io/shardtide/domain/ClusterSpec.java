package io.shardtide.domain;

import java.util.List;
import java.util.stream.IntStream;

/**
 * The devices that train a workload: identical, numbered from 0. When their number falls, the
 * devices with the highest numbers are removed.
 *
 * @param devices number of devices (ranks), 1 to {@value #MAX_DEVICES}
 * @param memoryBytesPerDevice bytes on each device for shards, 1 to {@value #MAX_MEMORY_BYTES}
 * @param batchSize samples in one batch over all devices, at least 1
 * @param devicesPerNode devices that share a node, at least 1
 * @param hardware name of the hardware, which selects the cost model
 */
public record ClusterSpec(
    int devices, long memoryBytesPerDevice, int batchSize, int devicesPerNode, String hardware) {

  /** The largest cluster. */
  public static final int MAX_DEVICES = 16_384;

  /** 16 TiB; with {@link #MAX_DEVICES} it keeps sums of bytes within 64 bits. */
  public static final long MAX_MEMORY_BYTES = 1L << 44;

  /**
   * @throws RejectedException if a value is outside its range
   */
  public ClusterSpec {
    Names.check(hardware, "name of the hardware", RejectionReason.INVALID_CLUSTER);
    check("devices", devices, MAX_DEVICES);
    check("bytes of memory per device", memoryBytesPerDevice, MAX_MEMORY_BYTES);
    check("samples per batch", batchSize, Integer.MAX_VALUE);
    check("devices per node", devicesPerNode, Integer.MAX_VALUE);
  }

  /** Returns the bytes of all devices. */
  public long memoryBytes() {
    return devices * memoryBytesPerDevice;
  }

  /** Returns the number of nodes, the last of which may have fewer devices than the others. */
  public int nodes() {
    return (devices - 1) / devicesPerNode + 1;
  }

  /** Returns the node of a device, from 0. */
  public int node(int device) {
    return device / devicesPerNode;
  }

  /**
   * Returns the numbers of a node's devices.
   *
   * @throws IllegalArgumentException if there is no such node
   */
  public List<Integer> devicesOfNode(int node) {
    if (node < 0 || node >= nodes()) {
      throw new IllegalArgumentException(
          "node must be between 0 and %d, got %d".formatted(nodes() - 1, node));
    }
    long end = Math.min(devices, (node + 1L) * devicesPerNode);
    return IntStream.range(node * devicesPerNode, (int) end).boxed().toList();
  }

  private static void check(String what, long value, long max) {
    if (value < 1 || value > max) {
      throw new RejectedException(
          RejectionReason.INVALID_CLUSTER,
          "%s of a cluster must be between 1 and %d, got %d".formatted(what, max, value));
    }
  }
}
