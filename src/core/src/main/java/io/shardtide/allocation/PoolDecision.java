package io.shardtide.allocation;

import io.shardtide.pool.Allocation;
import io.shardtide.workload.WorkloadChange;
import java.util.List;

/**
 * An allocation, and what follows from it.
 *
 * @param allocation the allocation
 * @param clusters events that give workloads their cluster
 */
public record PoolDecision(Allocation allocation, List<WorkloadChange> clusters) {
  /** Copies the list. */
  public PoolDecision {
    clusters = List.copyOf(clusters);
  }
}
