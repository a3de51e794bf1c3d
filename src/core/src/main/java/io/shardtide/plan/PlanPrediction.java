package io.shardtide.plan;

import java.util.List;

/**
 * Predicted costs of a plan, and what the search found out about it.
 *
 * @param deviceCosts predicted cost of each device of a replica group, in the order of their
 *     numbers
 * @param predictedMs predicted cost of a step in milliseconds: the largest {@link
 *     DeviceCost#totalMs} of any device, up to rounding, and {@link Replication#msPerStep}
 * @param insight a lower bound, the bottleneck, and why tables were cut and moved
 * @param outOfRange values outside the model's training range, in {@link OutOfRange#ORDER}; the
 *     first {@value #MAX_OUT_OF_RANGE}
 * @param outOfRangeCount how many such values there are in total
 * @param cacheMisses cached tables, by name, and how many of their lookups the caches miss
 * @param hotOwners tables whose lookups fall on one device more than on others, by name
 */
public record PlanPrediction(
    List<DeviceCost> deviceCosts,
    double predictedMs,
    Insight insight,
    List<OutOfRange> outOfRange,
    int outOfRangeCount,
    List<CacheMisses> cacheMisses,
    List<HotOwner> hotOwners) {

  /** More than a person reads, few enough for a record. */
  public static final int MAX_OUT_OF_RANGE = 100;

  /** Copies what may change. */
  public PlanPrediction {
    deviceCosts = List.copyOf(deviceCosts);
    outOfRange = List.copyOf(outOfRange);
    cacheMisses = List.copyOf(cacheMisses);
    hotOwners = List.copyOf(hotOwners);
  }
}
