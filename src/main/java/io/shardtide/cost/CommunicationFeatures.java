package io.shardtide.cost;

import java.util.List;

/**
 * Inputs of the communication nets for a device in an all-to-all: the largest columns of any
 * device, its own and the mean in proportion to them, and the number of devices. They do not depend
 * on the numbering of devices, so that one net serves every number of devices; NeuroShard trains
 * one net for each number, with one input per device (Zha et al., section 3.1).
 */
public final class CommunicationFeatures {
  /** Names with units, in the order of {@link #of}. */
  public static final List<String> NAMES =
      List.of(
          "log2_max_columns",
          "columns_over_max",
          "mean_columns_over_max",
          "log2_devices",
          "share_that_leaves");

  private CommunicationFeatures() {}

  /**
   * Returns the features of one device.
   *
   * @param columns columns on the device
   * @param meanColumns mean over all devices
   * @param maxColumns largest of all devices, above 0
   * @param devices number of devices
   */
  public static double[] of(double columns, double meanColumns, double maxColumns, int devices) {
    return new double[] {
      ShardFeatures.log2(1 + maxColumns),
      columns / maxColumns,
      meanColumns / maxColumns,
      ShardFeatures.log2(devices),
      (devices - 1.0) / devices
    };
  }
}
