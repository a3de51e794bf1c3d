package io.shardtide.allocation;

import io.shardtide.domain.WorkloadChange;
import io.shardtide.domain.pool.Allocation;
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
