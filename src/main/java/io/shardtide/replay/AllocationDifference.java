package io.shardtide.replay;

import java.util.List;

/**
 * Why a recorded allocation was not reproduced.
 *
 * @param poolId the pool
 * @param generation the pool's generation
 * @param allocationId the recorded allocation
 * @param explanation the cause, for people
 * @param fields one line per different field: its name, the recorded and the recomputed value; none
 *     if an input is missing
 */
public record AllocationDifference(
    String poolId, long generation, String allocationId, String explanation, List<String> fields) {
  /** Copies the list. */
  public AllocationDifference {
    fields = List.copyOf(fields);
  }
}
