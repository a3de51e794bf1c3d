package io.shardtide.topology;

import io.shardtide.allocation.PoolStore;
import io.shardtide.domain.pool.PoolHistory;
import io.shardtide.domain.pool.PoolMember;
import io.shardtide.domain.pool.StoredPool;
import io.shardtide.wire.Codec;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.state.StoreBuilder;

/** Pools, the workloads with claims on them, and applied events in RocksDB, logged to Kafka. */
final class KafkaPoolStore implements PoolStore {
  private final KeyedStore<StoredPool> headers;
  private final KeyedStore<PoolMember> members;
  private final KeyedStore<String> applied;

  KafkaPoolStore(KeyedStore.Opener stores) {
    headers = stores.open(StoreName.POOL_HEADERS);
    members = stores.open(StoreName.POOL_MEMBERS);
    applied = stores.open(StoreName.APPLIED_POOL_EVENTS);
  }

  static List<StoreBuilder<?>> builders() {
    return List.of(
        StoreKeys.cached(StoreName.POOL_HEADERS, Codec.POOL_HEADER),
        StoreKeys.cached(StoreName.POOL_MEMBERS, Codec.POOL_MEMBER),
        StoreKeys.builder(StoreName.APPLIED_POOL_EVENTS, Serdes.String()));
  }

  /** Calls an action with each pool of this partition. */
  void forEachHeader(Consumer<StoredPool> action) {
    headers.forEach((id, header) -> action.accept(header));
  }

  @Override
  public StoredPool header(String poolId) {
    StoredPool header = headers.get(poolId);
    return header == null ? StoredPool.empty(poolId) : header;
  }

  @Override
  public void putHeader(StoredPool header) {
    headers.put(header.state().id(), header);
  }

  @Override
  public Optional<PoolMember> member(String poolId, String workloadId) {
    return Optional.ofNullable(members.get(StoreKeys.of(poolId, workloadId)));
  }

  @Override
  public Map<String, PoolMember> members(String poolId) {
    Map<String, PoolMember> byWorkload = new TreeMap<>();
    members.values(poolId).forEach(member -> byWorkload.put(member.request().workloadId(), member));
    return byWorkload;
  }

  @Override
  public void putMember(PoolMember member) {
    members.put(StoreKeys.of(member.request().poolId(), member.request().workloadId()), member);
  }

  @Override
  public void removeMember(String poolId, String workloadId) {
    members.delete(StoreKeys.of(poolId, workloadId));
  }

  @Override
  public boolean wasApplied(String poolId, UUID eventId) {
    return applied.get(StoreKeys.of(poolId, eventId.toString())) != null;
  }

  @Override
  public void putApplied(String poolId, UUID eventId, long generation) {
    applied.put(StoreKeys.of(poolId, eventId.toString()), Long.toString(generation));
    applied.put(generationKey(poolId, generation), eventId.toString());
    // Deleting a missing key would still write a tombstone to the changelog.
    if (generation > PoolHistory.REMEMBERED_EVENTS) {
      String forgotten =
          applied.delete(generationKey(poolId, generation - PoolHistory.REMEMBERED_EVENTS));
      if (forgotten != null) {
        applied.delete(StoreKeys.of(poolId, forgotten));
      }
    }
  }

  private static String generationKey(String poolId, long generation) {
    return StoreKeys.of(poolId, "generation " + generation);
  }
}
