package io.shardtide.client;

import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.workload.SourcePosition;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * Builder of one event of a pool: changes that the planner applies in the order in which they were
 * added, all or none. 1 to {@value PoolChange#MAX_UPDATES} changes. Not safe for use by several
 * threads.
 */
public final class PendingPoolChange {
  private final PoolPublisher publisher;
  private final String poolId;
  private final String source;
  private final List<PoolUpdate> updates = new ArrayList<>();
  private UUID eventId = UUID.randomUUID();
  private Instant occurredAt;

  PendingPoolChange(PoolPublisher publisher, String poolId, String source, Instant now) {
    this.publisher = publisher;
    this.poolId = poolId;
    this.source = source;
    occurredAt = now;
  }

  /** Sets the pool, or replaces it: nodes that it no longer has are lost, claims stay. */
  public PendingPoolChange set(Pool pool) {
    updates.add(new PoolUpdate.PoolSet(pool));
    return this;
  }

  /** Adds a node. The planner rejects the event if the pool has a node of this name. */
  public PendingPoolChange nodeAdded(PoolNode node) {
    updates.add(new PoolUpdate.PoolNodeAdded(node));
    return this;
  }

  /**
   * Takes a node from the pool. The planner rejects the event if the pool has no such node.
   *
   * @throws io.shardtide.workload.RejectedException if no node can have the name
   */
  public PendingPoolChange nodeLost(String node) {
    updates.add(new PoolUpdate.PoolNodeLost(node));
    return this;
  }

  /**
   * Claims devices for a workload, or replaces its claim. A claim may exceed the pool: the workload
   * waits if the pool has fewer devices than its least.
   */
  public PendingPoolChange claim(Claim claim) {
    updates.add(new PoolUpdate.ClaimSet(claim));
    return this;
  }

  /**
   * Withdraws the claim of a workload. The planner rejects the event if it has none on the pool.
   *
   * @throws io.shardtide.workload.RejectedException if no workload can have the id
   */
  public PendingPoolChange withdraw(String workloadId) {
    updates.add(new PoolUpdate.ClaimWithdrawn(workloadId));
    return this;
  }

  /**
   * Sets the event's id, for publishers that must send the same id again after a restart. A random
   * one otherwise.
   */
  public PendingPoolChange eventId(UUID id) {
    eventId = id;
    return this;
  }

  /** Sets when the change occurred at its source. Now, otherwise. For people; orders nothing. */
  public PendingPoolChange occurredAt(Instant time) {
    occurredAt = time;
    return this;
  }

  /**
   * Returns the event.
   *
   * @throws io.shardtide.workload.RejectedException if the pool's id or the number of changes is
   *     out of range; the message names the value and what is expected
   */
  public PoolChange event() {
    return new PoolChange(eventId, poolId, occurredAt, source, updates);
  }

  /** Builds and sends the event, as {@link PoolPublisher#publish}. */
  public CompletableFuture<SourcePosition> send() {
    return publisher.publish(event());
  }

  /** Builds and sends the event, as {@link PoolPublisher#publishAndAwait}. */
  public CompletableFuture<Outcome> sendAndAwait() {
    return publisher.publishAndAwait(event());
  }
}
