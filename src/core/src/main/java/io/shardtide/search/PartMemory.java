package io.shardtide.search;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.UsableMemory;
import java.util.stream.IntStream;

/**
 * How large the equal parts of a table may be on devices of unequal memory: each device of a part's
 * place holds as much of it, so that the one with the least memory decides.
 */
public final class PartMemory {
  /** Of each device, and of each node the least of its devices; the largest last. */
  private final long[] ofDevices;

  private final long[] ofNodes;

  /** Reads the memory of a cluster. */
  public PartMemory(ClusterSpec cluster) {
    UsableMemory memory = cluster.usableMemory();
    ofDevices = IntStream.range(0, cluster.devices()).mapToLong(memory::bytes).sorted().toArray();
    ofNodes =
        IntStream.range(0, cluster.nodes())
            .mapToLong(
                node ->
                    cluster.devicesOfNode(node).stream()
                        .mapToLong(memory::bytes)
                        .min()
                        .orElseThrow())
            .sorted()
            .toArray();
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
    return switch (scope) {
      case DEVICE -> largest(ofDevices, parts);
      case NODE -> largest(ofNodes, parts);
      case CLUSTER, COPIES -> ofDevices[0];
    };
  }

  private static long largest(long[] ascending, int number) {
    return ascending[Math.max(0, ascending.length - number)];
  }

  /** Returns the bytes that embeddings may use on the device with the least memory. */
  public long least() {
    return ofDevices[0];
  }

  /** Returns whether all devices have equally much. */
  public boolean isEqual() {
    return ofDevices[0] == ofDevices[ofDevices.length - 1];
  }
}
