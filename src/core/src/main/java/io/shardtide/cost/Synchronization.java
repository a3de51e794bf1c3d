package io.shardtide.cost;

import io.shardtide.plan.Replication;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ReplicaGroups;
import java.util.List;

/**
 * How replica groups are kept equal: every few steps an all-reduce, over the devices with the same
 * position in their groups, of all that their shards hold, optimizer state included. All positions
 * synchronize at once, so that the fullest one decides.
 *
 * @param groups the groups
 * @param peers the devices with the same position
 * @param steps steps from one synchronization to the next
 */
public record Synchronization(ReplicaGroups groups, DeviceGroup peers, int steps) {
  /** One group: nothing is synchronized. */
  public static final Synchronization NONE =
      new Synchronization(ReplicaGroups.ONE, new DeviceGroup(1, 1), 1);

  /** Returns how replica groups of a cluster are kept equal. */
  public static Synchronization of(ReplicaGroups groups, ClusterSpec cluster) {
    return groups.areSeveral()
        ? new Synchronization(
            groups,
            new DeviceGroup(groups.count(), groups.peersPerNode(cluster)),
            cluster.synchronizationSteps())
        : NONE;
  }

  /**
   * Predicts a synchronization, in milliseconds; 0 of one group.
   *
   * @param bytes bytes of the fullest device
   */
  public double ms(CostEvaluator evaluator, double bytes) {
    return evaluator.bufferMs(
        new BufferCollective(Collective.ALL_REDUCE, Direction.BACKWARD, bytes), peers);
  }

  /** Predicts the synchronizations of a plan, given the loads of a group's devices. */
  public Replication of(CostEvaluator evaluator, List<DeviceLoad> loads) {
    long most = loads.stream().mapToLong(load -> load.bytes(Tiers.TABLES)).max().orElse(0);
    return new Replication(groups, steps, ms(evaluator, (double) most));
  }
}
