package io.shardtide.domain;

/**
 * The devices that train a workload: alike, numbered from 0. When the count falls, the devices with
 * the highest numbers are gone.
 *
 * @param devices number of devices (ranks), 1 to {@value #MAX_DEVICES}
 * @param memoryBytesPerDevice bytes on each device that shards may fill, 1 to {@value
 *     #MAX_MEMORY_BYTES}
 * @param batchSize samples in one batch over all devices, at least 1
 * @param devicesPerNode devices that share a node, at least 1
 * @param hardware which family of cost models applies
 */
public record ClusterSpec(
    int devices, long memoryBytesPerDevice, int batchSize, int devicesPerNode, String hardware) {

  /** The largest cluster. */
  public static final int MAX_DEVICES = 16_384;

  /** 16 TiB; with {@link #MAX_DEVICES} it keeps sums of bytes within 64 bits. */
  public static final long MAX_MEMORY_BYTES = 1L << 44;

  /**
   * @throws RejectedException if a value is outside its legal range
   */
  public ClusterSpec {
    Names.check(hardware, "name of the hardware", RejectionReason.INVALID_CLUSTER);
    check("devices", devices, MAX_DEVICES);
    check("bytes of memory per device", memoryBytesPerDevice, MAX_MEMORY_BYTES);
    check("samples per batch", batchSize, Integer.MAX_VALUE);
    check("devices per node", devicesPerNode, Integer.MAX_VALUE);
  }

  /** Returns the bytes of all devices together. */
  public long memoryBytes() {
    return devices * memoryBytesPerDevice;
  }

  private static void check(String what, long value, long max) {
    if (value < 1 || value > max) {
      throw new RejectedException(
          RejectionReason.INVALID_CLUSTER,
          "The cluster has %d %s; legal are 1 to %d".formatted(value, what, max));
    }
  }
}
