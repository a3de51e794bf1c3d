package io.shardtide.pool;

import io.shardtide.workload.Names;
import io.shardtide.workload.RejectionReason;

/** One change to a pool. */
public sealed interface PoolUpdate {
  /**
   * The pool is set or changed. Nodes that it no longer has are lost; claims stay.
   *
   * @param pool the pool as it is from now on
   */
  record PoolSet(Pool pool) implements PoolUpdate {}

  /**
   * A node is added, or returns.
   *
   * @param node the node
   */
  record PoolNodeAdded(PoolNode node) implements PoolUpdate {}

  /**
   * A node is lost.
   *
   * @param node name of a node of the pool
   */
  record PoolNodeLost(String node) implements PoolUpdate {
    /**
     * @throws io.shardtide.workload.RejectedException if no node can have the name
     */
    public PoolNodeLost {
      Names.check(node, "name of a node", RejectionReason.INVALID_POOL);
    }
  }

  /**
   * A workload claims devices, or changes its claim.
   *
   * @param claim the claim from now on
   */
  record ClaimSet(Claim claim) implements PoolUpdate {}

  /**
   * A workload no longer claims devices.
   *
   * @param workloadId a workload with a claim
   */
  record ClaimWithdrawn(String workloadId) implements PoolUpdate {
    /**
     * @throws io.shardtide.workload.RejectedException if no workload can have the id
     */
    public ClaimWithdrawn {
      Names.check(
          workloadId, "workload id of a withdrawn claim", RejectionReason.INVALID_WORKLOAD_ID);
    }
  }
}
