package io.shardtide.domain.pool;

import java.util.List;
import java.util.Objects;

/**
 * What a workload has of a pool.
 *
 * @param workloadId the workload
 * @param nodes names of its nodes, ascending; none while it waits
 * @param devices devices that it uses: all of its nodes, or the most that it claims
 * @param samplesPerSecond its predicted throughput; 0 without nodes or without a prediction
 * @param fairNodes nodes that it would have in the fair allocation; 0 while it waits
 * @param change what changed
 * @param reason why, for people
 */
public record WorkloadAllocation(
    String workloadId,
    List<String> nodes,
    int devices,
    double samplesPerSecond,
    double fairNodes,
    AllocationChange change,
    String reason) {
  /** Sorts the nodes. */
  public WorkloadAllocation {
    Objects.requireNonNull(workloadId, "workloadId");
    Objects.requireNonNull(change, "change");
    Objects.requireNonNull(reason, "reason");
    nodes = nodes.stream().sorted().toList();
    if (nodes.isEmpty() != (devices == 0)) {
      throw new IllegalArgumentException(
          "devices must be 0 without nodes and above 0 with them, got %d on %d nodes"
              .formatted(devices, nodes.size()));
    }
  }
}
