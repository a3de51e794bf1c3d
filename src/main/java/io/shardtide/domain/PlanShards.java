package io.shardtide.domain;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * The shards of a plan and the devices that they are on.
 *
 * @param shards the shards, in {@link Shard#ORDER} where they are of a plan
 * @param devices number of devices, at least 0
 */
public record PlanShards(List<Shard> shards, int devices) {
  /** No plan. */
  public static final PlanShards NONE = new PlanShards(List.of(), 0);

  /** Copies what may change. */
  public PlanShards {
    shards = List.copyOf(shards);
    if (devices < 0) {
      throw new IllegalArgumentException("devices must be at least 0, got " + devices);
    }
  }

  /** Returns the share of each table's rows that device memory holds; empty if all. */
  public Map<String, OptionalDouble> cacheShares() {
    Map<String, OptionalDouble> shares = new HashMap<>();
    shards.forEach(shard -> shares.put(shard.table(), shard.cacheShare()));
    return shares;
  }

  /** Returns whether there are no shards. */
  public boolean isEmpty() {
    return shards.isEmpty();
  }
}
