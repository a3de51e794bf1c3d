package io.shardtide.pool;

import java.util.List;
import java.util.Optional;

/**
 * What a workload has of a pool.
 *
 * @param workloadId the workload
 * @param nodes names of its nodes, in the order in which ranks are numbered; none while it waits
 * @param devices devices that it uses: all of its nodes, or the most that it claims
 * @param samplesPerSecond its predicted throughput; 0 without nodes or without a prediction
 * @param fairNodes nodes that it would have in the fair allocation; 0 while it waits
 * @param change what changed
 * @param reason why, for people
 * @param ring predicted bandwidth of its nodes; empty if the pool's links were not measured, or it
 *     has fewer than two nodes
 */
public record WorkloadAllocation(
    String workloadId,
    List<String> nodes,
    int devices,
    double samplesPerSecond,
    double fairNodes,
    AllocationChange change,
    String reason,
    Optional<RingPrediction> ring) {
  /** Copies the list and checks that there are devices if there are nodes. */
  public WorkloadAllocation {
    nodes = List.copyOf(nodes);
    if (nodes.isEmpty() != (devices == 0)) {
      throw new IllegalArgumentException(
          "devices must be 0 without nodes and above 0 with them, got %s on %s nodes"
              .formatted(devices, nodes.size()));
    }
  }
}
