package io.shardtide.pool;

import io.shardtide.workload.Names;
import io.shardtide.workload.NumberRange;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.Collection;

/** Measured bandwidth between the nodes of a pool, the same in both directions. */
public sealed interface PoolLinks permits RackLinks, NodeLinks {
  /** Range of a bandwidth, in 10^9 bytes a second. */
  NumberRange GIGABYTES_PER_SECOND = NumberRange.above(0, 1_000_000);

  /**
   * Returns the bandwidth from one node to another while no other two nodes communicate, in 10^9
   * bytes a second.
   */
  double gigabytesPerSecond(PoolNode from, PoolNode to);

  /**
   * Returns the group of a node: nodes of one group have the same bandwidth to all others. A group
   * is a rack, or a node.
   */
  String group(PoolNode node);

  /** Returns whether all nodes of one group share the bandwidth to another group. */
  boolean isSharedBetweenGroups();

  /**
   * Checks that these are the links of a pool.
   *
   * @param nodes the nodes of the pool
   * @throws RejectedException if a name is none of the pool's, or one is missing
   */
  void check(Collection<PoolNode> nodes);

  /**
   * Checks a bandwidth.
   *
   * @throws RejectedException if it is outside {@link #GIGABYTES_PER_SECOND}
   */
  static void check(double gigabytesPerSecond, String from, String to) {
    if (!GIGABYTES_PER_SECOND.contains(gigabytesPerSecond)) {
      throw RejectionReason.INVALID_POOL.failure(
          "bandwidth from %s to %s must be %s GB/s, got %s"
              .formatted(
                  Names.quote(from), Names.quote(to), GIGABYTES_PER_SECOND, gigabytesPerSecond));
    }
  }
}
