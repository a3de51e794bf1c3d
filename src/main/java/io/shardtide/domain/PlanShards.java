package io.shardtide.domain;

import java.util.List;

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

  /** Returns whether there are no shards. */
  public boolean isEmpty() {
    return shards.isEmpty();
  }
}
