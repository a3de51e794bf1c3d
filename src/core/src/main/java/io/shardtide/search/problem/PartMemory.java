package io.shardtide.search.problem;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.UsableMemory;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;

/**
 * How large the equal parts of a table may be on devices of unequal memory: each device of a part's
 * place holds as much of it, so that the one with the least memory decides.
 */
public final class PartMemory {
  /** By scope, the least memory of the devices of each place; the largest last. */
  private final Map<ShardScope, long[]> ofPlaces = new EnumMap<>(ShardScope.class);

  /** Reads the memory of a cluster. */
  public PartMemory(ClusterSpec cluster) {
    UsableMemory memory = cluster.usableMemory();
    for (ShardScope scope : ShardScope.values()) {
      int size = scope.devices(cluster);
      long[] least = new long[scope.places(cluster)];
      Arrays.fill(least, Long.MAX_VALUE);
      for (int d = 0; d < cluster.devices(); d++) {
        least[d / size] = Math.min(least[d / size], memory.bytes(d));
      }
      Arrays.sort(least);
      ofPlaces.put(scope, least);
    }
  }

  /**
   * Returns the most bytes that each of a table's parts may have on a device, so that there are
   * places for all of them.
   *
   * @param scope where the rows of each part are
   * @param parts how many parts there are, each at a place of its own; more than there are places
   *     count as so many
   */
  public long most(ShardScope scope, int parts) {
    long[] ascending = ofPlaces.get(scope);
    return ascending[Math.max(0, ascending.length - parts)];
  }

  /** Returns the bytes that embeddings may use on the device with the least memory. */
  public long least() {
    return most(ShardScope.CLUSTER, 1);
  }

  /** Returns whether all devices have equally much. */
  public boolean isEqual() {
    return least() == most(ShardScope.DEVICE, 1);
  }
}
