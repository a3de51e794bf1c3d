package io.shardtide.allocation;

import io.shardtide.domain.pool.PoolMember;
import io.shardtide.domain.pool.StoredPool;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** Pools and the workloads with claims on them, as {@link PoolStep} keeps them. */
public interface PoolStore {
  /** Returns the state of a pool; {@link StoredPool#empty} before its first event. */
  StoredPool header(String poolId);

  /** Stores the state of a pool. */
  void putHeader(StoredPool header);

  /** Returns a workload with a claim, if it has one. */
  Optional<PoolMember> member(String poolId, String workloadId);

  /** Returns all workloads with a claim, by their ids. */
  Map<String, PoolMember> members(String poolId);

  /** Stores a workload with a claim. */
  void putMember(PoolMember member);

  /** Removes a workload whose claim is withdrawn. */
  void removeMember(String poolId, String workloadId);

  /** Returns whether an event was applied before. */
  boolean wasApplied(String poolId, UUID eventId);

  /**
   * Remembers an event.
   *
   * @param generation the generation that it led to
   */
  void putApplied(String poolId, UUID eventId, long generation);
}
