package io.shardtide.workload;

import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The bytes of each device that embeddings may use.
 *
 * @param bytesPerDevice bytes of each device that is not named, at least 1
 * @param byDevice bytes of the others, at least 1, by the number of the device (its rank)
 */
public record UsableMemory(long bytesPerDevice, SortedMap<Integer, Long> byDevice) {
  /** Copies what may change, and checks the bytes. */
  public UsableMemory {
    byDevice = Collections.unmodifiableSortedMap(new TreeMap<>(byDevice));
    Limits limits = Limits.of(IllegalArgumentException::new, "a device");
    limits.atLeast("usable bytes", bytesPerDevice, 1);
    byDevice.values().forEach(bytes -> limits.atLeast("usable bytes", bytes, 1));
  }

  /** Returns the bytes of a device. */
  public long bytes(int device) {
    return byDevice.isEmpty() ? bytesPerDevice : byDevice.getOrDefault(device, bytesPerDevice);
  }
}
