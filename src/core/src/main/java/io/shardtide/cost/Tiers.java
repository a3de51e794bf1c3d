package io.shardtide.cost;

import io.shardtide.workload.ClusterSpec;

/** Bytes by tier of memory, in arrays: who adds and compares them need not know which there are. */
public final class Tiers {
  /** The memory of a device. */
  public static final int DEVICE = 0;

  /** A device's share of host memory. */
  public static final int HOST = 1;

  /** Weights and optimizer state, in either memory; they have no limit of their own. */
  public static final int TABLES = 2;

  /** How many there are. */
  public static final int COUNT = 3;

  private Tiers() {}

  /** Returns the bytes that embeddings may use of each tier, by device. */
  public static long[][] limits(ClusterSpec cluster) {
    long[][] limits = new long[cluster.devices()][];
    for (int d = 0; d < limits.length; d++) {
      limits[d] =
          new long[] {
            cluster.usableMemory().bytes(d), cluster.hostMemoryBytesPerDevice(), Long.MAX_VALUE
          };
    }
    return limits;
  }

  /** Adds bytes to others, so often; or subtracts them. */
  public static void add(long[] bytes, long[] more, int times) {
    for (int tier = 0; tier < COUNT; tier++) {
      bytes[tier] += times * more[tier];
    }
  }
}
