package io.shardtide.plan;

import io.shardtide.workload.Limits;
import io.shardtide.workload.ReplicaGroups;

/**
 * The replica groups of a plan and how they are kept equal.
 *
 * @param groups the groups; shards and device costs of a plan are those of each one
 * @param synchronizationSteps steps from one synchronization to the next, at least 1
 * @param synchronizationMs predicted time of a synchronization in milliseconds; 0 of one group. A
 *     step is predicted to take this over {@code synchronizationSteps} more than in a group alone
 */
public record Replication(
    ReplicaGroups groups, int synchronizationSteps, double synchronizationMs) {
  /** One group: nothing is synchronized. */
  public static final Replication NONE = new Replication(ReplicaGroups.ONE, 1, 0);

  /** Checks the ranges. */
  public Replication {
    Limits.ARGUMENTS
        .atLeast("steps before a synchronization", synchronizationSteps, 1)
        .check(synchronizationMs >= 0, "ms of a synchronization", "at least 0", synchronizationMs);
  }

  /** Returns what synchronization adds to a step, in milliseconds. */
  public double msPerStep() {
    return synchronizationMs / synchronizationSteps;
  }
}
