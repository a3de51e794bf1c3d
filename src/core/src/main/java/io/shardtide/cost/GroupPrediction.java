package io.shardtide.cost;

import io.shardtide.domain.ReplicaGroups;

/**
 * Predictions of a table for a replica group: its devices, and its part of the batch.
 *
 * @param groups the replica groups, several
 * @param prediction the table on the devices of one of them
 */
public record GroupPrediction(ReplicaGroups groups, TablePrediction prediction) {
  /** Checks that there are several groups. */
  public GroupPrediction {
    if (!groups.areSeveral()) {
      throw new IllegalArgumentException("groups must be at least 2, got " + groups.count());
    }
  }
}
