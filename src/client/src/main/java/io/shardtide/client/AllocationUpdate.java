package io.shardtide.client;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.WorkloadAllocation;
import java.util.List;
import java.util.Optional;

/**
 * A new allocation of a pool, with the one that this subscriber received before it.
 *
 * @param allocation the allocation
 * @param previous the pool's allocation that this subscriber received before; empty the first time
 */
public record AllocationUpdate(Allocation allocation, Optional<Allocation> previous) {
  /**
   * Returns whether a workload has other nodes than in {@code previous}, or uses another number of
   * their devices. The first time: whether it has any.
   */
  public boolean concerns(String workloadId) {
    Optional<WorkloadAllocation> now = allocation.of(workloadId);
    Optional<WorkloadAllocation> before = previous.flatMap(p -> p.of(workloadId));
    return !nodes(now).equals(nodes(before)) || devices(now) != devices(before);
  }

  private static List<String> nodes(Optional<WorkloadAllocation> of) {
    return of.map(WorkloadAllocation::nodes).orElse(List.of());
  }

  private static int devices(Optional<WorkloadAllocation> of) {
    return of.map(WorkloadAllocation::devices).orElse(0);
  }
}
