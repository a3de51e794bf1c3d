package io.shardtide.topology;

import io.shardtide.allocation.PoolStore;
import io.shardtide.domain.pool.PoolMember;
import io.shardtide.domain.pool.StoredPool;
import io.shardtide.step.AppliedEvents;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;

/** Pools, the workloads with claims on them, and applied events in RocksDB, logged to Kafka. */
final class KafkaPoolStore implements PoolStore {
  private final KeyedStore<StoredPool> headers;
  private final KeyedStore<PoolMember> members;
  private final AppliedEvents applied;

  KafkaPoolStore(KeyedStore.Opener stores) {
    headers = stores.open(StoreName.POOL_HEADERS);
    members = stores.open(StoreName.POOL_MEMBERS);
    applied = new AppliedEvents(stores.open(StoreName.APPLIED_POOL_EVENTS));
  }

  /** Calls an action with each pool of this partition. */
  void forEachHeader(Consumer<StoredPool> action) {
    headers.forEach((id, header) -> action.accept(header));
  }

  @Override
  public StoredPool header(String poolId) {
    return headers.get(poolId, "").orElse(StoredPool.empty(poolId));
  }

  @Override
  public void putHeader(StoredPool header) {
    headers.put(header.state().id(), "", header);
  }

  @Override
  public Optional<PoolMember> member(String poolId, String workloadId) {
    return members.get(poolId, workloadId);
  }

  @Override
  public Map<String, PoolMember> members(String poolId) {
    return members.range(poolId);
  }

  @Override
  public void putMember(PoolMember member) {
    members.put(member.request().poolId(), member.request().workloadId(), member);
  }

  @Override
  public void removeMember(String poolId, String workloadId) {
    members.delete(poolId, workloadId);
  }

  @Override
  public boolean wasApplied(String poolId, UUID eventId) {
    return applied.contains(poolId, eventId);
  }

  @Override
  public void putApplied(String poolId, UUID eventId, long generation) {
    applied.add(poolId, eventId, generation);
  }
}
