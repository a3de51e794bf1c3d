package io.shardtide.search.problem;

import io.shardtide.cost.Tiers;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardScope;
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

  /** Of each device. */
  private final long host;

  /** Reads the memory of a cluster. */
  public PartMemory(ClusterSpec cluster) {
    long[][] ofDevices = Tiers.limits(cluster);
    host = ofDevices[Tiers.HOST][0];
    for (ShardScope scope : ShardScope.values()) {
      int size = scope.devices(cluster);
      long[] least = new long[scope.places(cluster)];
      Arrays.fill(least, Long.MAX_VALUE);
      for (int d = 0; d < cluster.devices(); d++) {
        least[d / size] = Math.min(least[d / size], ofDevices[Tiers.DEVICE][d]);
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

  /**
   * Returns whether a table's parts of such bytes by tier fit, each at a place of its own; see
   * {@link #most}.
   */
  public boolean holds(long[] bytes, ShardScope scope, int parts) {
    return bytes[Tiers.DEVICE] <= most(scope, parts) && bytes[Tiers.HOST] <= host;
  }

  /** Returns whether devices have a share of host memory. */
  public boolean hasHost() {
    return host > 0;
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
