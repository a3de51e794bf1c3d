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

  /**
   * Returns the share of each table's rows that device memory holds, without copies of hot rows;
   * empty if all.
   */
  public Map<String, OptionalDouble> cacheShares() {
    Map<String, OptionalDouble> shares = new HashMap<>();
    for (Shard shard : shards) {
      if (!shard.isCopied() || !shares.containsKey(shard.table())) {
        shares.put(shard.table(), shard.cacheShare());
      }
    }
    return shares;
  }

  /** Returns whether there are no shards. */
  public boolean isEmpty() {
    return shards.isEmpty();
  }
}
