package io.shardtide.replay;

import io.shardtide.plan.ShardingPlan;
import java.util.Optional;

/**
 * The workloads and generations that a replay covers.
 *
 * @param workload one workload; empty for all
 * @param from the first generation, at least 0
 * @param to the last generation, not before the first
 */
public record ReplayScope(Optional<String> workload, long from, long to) {
  /** Everything. */
  public static final ReplayScope ALL = new ReplayScope(Optional.empty(), 0, Long.MAX_VALUE);

  /** Checks the range. */
  public ReplayScope {
    if (from < 0 || to < from) {
      throw new IllegalArgumentException(
          "--from must be at least 0 and at most --to, got --from %d and --to %d"
              .formatted(from, to));
    }
  }

  boolean has(String workloadId) {
    return workload.isEmpty() || workload.get().equals(workloadId);
  }

  boolean has(String workloadId, long generation) {
    return has(workloadId) && generation >= from && generation <= to;
  }

  boolean has(ShardingPlan plan) {
    return has(plan.workloadId(), plan.generation());
  }
}
