package io.shardtide.cost;

import io.shardtide.workload.ClusterSpec;
import java.util.Arrays;

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

  /** Returns the bytes that embeddings may use, by tier and device. */
  public static long[][] limits(ClusterSpec cluster) {
    long[][] limits = new long[COUNT][cluster.devices()];
    Arrays.setAll(limits[DEVICE], cluster.usableMemory()::bytes);
    Arrays.fill(limits[HOST], cluster.hostMemoryBytesPerDevice());
    Arrays.fill(limits[TABLES], Long.MAX_VALUE);
    return limits;
  }

  /** Adds bytes to others, so often; or subtracts them. */
  public static void add(long[] bytes, long[] more, int times) {
    for (int tier = 0; tier < COUNT; tier++) {
      bytes[tier] += times * more[tier];
    }
  }

  /** Adds bytes to those of one device, by tier and device, so often. */
  public static void add(long[][] bytes, int device, long[] more, int times) {
    for (int tier = 0; tier < COUNT; tier++) {
      bytes[tier][device] += times * more[tier];
    }
  }
}
