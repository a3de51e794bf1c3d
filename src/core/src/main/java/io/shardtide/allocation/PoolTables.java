package io.shardtide.allocation;

import io.shardtide.pool.PoolMember;
import io.shardtide.pool.StoredPool;
import io.shardtide.step.AppliedEvents;
import io.shardtide.step.KeyValues;

/**
 * State of {@link PoolStep}, by pool.
 *
 * @param headers the pools, without names
 * @param members the workloads with a claim, by their ids
 * @param applied the events that were applied
 */
public record PoolTables(
    KeyValues<StoredPool> headers, KeyValues<PoolMember> members, AppliedEvents applied) {
  /** Returns the state of a pool; {@link StoredPool#empty} before its first event. */
  public StoredPool header(String poolId) {
    return headers.get(poolId, "").orElse(StoredPool.empty(poolId));
  }

  void put(StoredPool header) {
    headers.put(header.state().id(), "", header);
  }

  void put(PoolMember member) {
    members.put(member.request().poolId(), member.request().workloadId(), member);
  }
}
