package io.shardtide.domain.pool;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Names;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;

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
    check(
        mostDevices >= 1 && mostDevices <= ClusterSpec.MAX_DEVICES,
        "most devices",
        "between 1 and " + ClusterSpec.MAX_DEVICES,
        workloadId,
        mostDevices);
    check(
        leastDevices >= 1 && leastDevices <= mostDevices,
        "least devices",
        "between 1 and its most devices, " + mostDevices,
        workloadId,
        leastDevices);
    check(
        weight >= MIN_WEIGHT && weight <= MAX_WEIGHT,
        "weight",
        "between %s and %s".formatted(MIN_WEIGHT, MAX_WEIGHT),
        workloadId,
        weight);
    check(
        priority >= 0 && priority <= MAX_PRIORITY,
        "priority",
        "between 0 and " + MAX_PRIORITY,
        workloadId,
        priority);
  }

  private static void check(
      boolean isValid, String what, String expected, String workloadId, Object value) {
    if (!isValid) {
      throw new RejectedException(
          RejectionReason.INVALID_CLAIM,
          "%s of the claim of workload %s must be %s, got %s"
              .formatted(what, Names.quote(workloadId), expected, value));
    }
  }
}
