package io.shardtide.workload;

import java.util.Comparator;

/**
 * The memory of one device that has more or less than the others of its cluster.
 *
 * @param device number of the device (its rank), from 0
 * @param bytes its memory, that which is reserved included; 1 to {@link
 *     ClusterSpec#MAX_MEMORY_BYTES}
 */
public record DeviceMemory(int device, long bytes) {
  /** By device. */
  public static final Comparator<DeviceMemory> ORDER =
      Comparator.comparingInt(DeviceMemory::device);
}
