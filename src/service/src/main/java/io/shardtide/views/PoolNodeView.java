package io.shardtide.views;

import java.time.Instant;
import java.util.Optional;

/**
 * A node of a pool.
 *
 * @param name its name
 * @param rack its rack; empty text if unknown
 * @param state who has it
 * @param workloadId the workload that has it; of a lost node, the one that had it last, if known
 * @param lostAt when it was lost; empty unless it is
 * @param transfer the latest allocation that took it from a workload, if one of the latest did
 */
public record PoolNodeView(
    String name,
    String rack,
    NodeState state,
    Optional<String> workloadId,
    Optional<Instant> lostAt,
    Optional<TransferView> transfer) {

  /** What a node does. */
  public enum NodeState {
    /** A workload has it. */
    TAKEN,
    /** The pool has it, and no workload does. */
    FREE,
    /** The pool lost it. */
    LOST
  }

  /**
   * How a workload lost the node.
   *
   * @param generation the pool's generation
   * @param from the workload that had it
   * @param to the workload that got it; empty if nobody did
   * @param reason why, for people
   */
  public record TransferView(long generation, String from, Optional<String> to, String reason) {}
}
