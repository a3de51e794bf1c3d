package io.shardtide.client;

import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolUpdate;

/**
 * Builder of one event of a pool: changes that the planner applies in the order in which they were
 * added, all or none. 1 to {@value PoolChange#MAX_UPDATES} changes. Not safe for use by several
 * threads.
 */
public final class PendingPoolChange
    extends PendingEvent<PoolChange, PoolUpdate, PendingPoolChange> {
  PendingPoolChange(PoolPublisher publisher, String poolId) {
    super(publisher, poolId);
  }

  /** Sets the pool, or replaces it: nodes that it no longer has are lost, claims stay. */
  public PendingPoolChange set(Pool pool) {
    return with(new PoolUpdate.PoolSet(pool));
  }

  /** Adds a node. The planner rejects the event if the pool has a node of this name. */
  public PendingPoolChange nodeAdded(PoolNode node) {
    return with(new PoolUpdate.PoolNodeAdded(node));
  }

  /**
   * Takes a node from the pool. The planner rejects the event if the pool has no such node.
   *
   * @throws io.shardtide.workload.RejectedException if no node can have the name
   */
  public PendingPoolChange nodeLost(String node) {
    return with(new PoolUpdate.PoolNodeLost(node));
  }

  /**
   * Claims devices for a workload, or replaces its claim. A claim may exceed the pool: the workload
   * waits if the pool has fewer devices than its least.
   */
  public PendingPoolChange claim(Claim claim) {
    return with(new PoolUpdate.ClaimSet(claim));
  }

  /**
   * Withdraws the claim of a workload. The planner rejects the event if it has none on the pool.
   *
   * @throws io.shardtide.workload.RejectedException if no workload can have the id
   */
  public PendingPoolChange withdraw(String workloadId) {
    return with(new PoolUpdate.ClaimWithdrawn(workloadId));
  }

  @Override
  public PoolChange event() {
    return new PoolChange(eventId, key, occurredAt, source, changes);
  }
}
