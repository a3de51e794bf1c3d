package io.shardtide.workload;

/** Which ranks form a replica group. */
public enum GroupLayout implements Named {
  /**
   * Consecutive ranks: whole nodes, or equal parts of a node. The collectives of a step stay there,
   * and groups are synchronized between them.
   */
  CONSECUTIVE,
  /**
   * Every R-th rank of R groups: each node has ranks of several groups, which are synchronized
   * within it.
   */
  STRIDED
}
