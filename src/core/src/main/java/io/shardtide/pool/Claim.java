package io.shardtide.pool;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Limits;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;

/**
 * What a workload asks of a pool.
 *
 * @param workloadId the workload
 * @param leastDevices devices without which it does not train, 1 to {@code mostDevices}. It gets
 *     whole nodes, so that fewer than a node's are a node
 * @param mostDevices devices that it can use, up to {@link ClusterSpec#MAX_DEVICES}
 * @param weight value of one of its samples relative to those of others, {@value #MIN_WEIGHT} to
 *     {@value #MAX_WEIGHT}: the sum of weight times samples a second is maximised
 * @param priority who keeps its least devices when the pool has too few: workloads with a greater
 *     number, 0 to {@value #MAX_PRIORITY}
 */
public record Claim(
    String workloadId, int leastDevices, int mostDevices, double weight, int priority) {
  /** A thousandth of the usual weight. */
  public static final double MIN_WEIGHT = 0.001;

  /** A thousand times the usual weight: sums of weighted throughput keep their precision. */
  public static final double MAX_WEIGHT = 1_000;

  /** The highest priority. */
  public static final int MAX_PRIORITY = 1_000;

  /**
   * @throws RejectedException if a value is outside its range
   */
  public Claim {
    Names.check(workloadId, "workload id of a claim", RejectionReason.INVALID_WORKLOAD_ID);
    Limits.of(RejectionReason.INVALID_CLAIM, "the claim of workload", workloadId)
        .whole("most devices", mostDevices, 1, ClusterSpec.MAX_DEVICES)
        .whole("least devices", leastDevices, 1, mostDevices)
        .within("weight", weight, MIN_WEIGHT, MAX_WEIGHT)
        .whole("priority", priority, 0, MAX_PRIORITY);
  }
}
