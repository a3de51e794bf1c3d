package io.shardtide.pool;

import io.shardtide.workload.Names;
import io.shardtide.workload.RejectionReason;

/**
 * A machine of a pool.
 *
 * @param name its name in the pool
 * @param rack the rack that it is in: nodes of one rack are near one another. Empty if unknown;
 *     nodes without a rack count as one rack
 */
public record PoolNode(String name, String rack) implements Comparable<PoolNode> {
  /**
   * @throws io.shardtide.workload.RejectedException if a name is invalid
   */
  public PoolNode {
    Names.check(name, "name of a node", RejectionReason.INVALID_POOL);
    if (!rack.isEmpty()) {
      Names.check(rack, "rack of node " + Names.quote(name), RejectionReason.INVALID_POOL);
    }
  }

  /** Orders by name. */
  @Override
  public int compareTo(PoolNode other) {
    return name.compareTo(other.name);
  }
}
