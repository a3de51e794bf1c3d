package io.shardtide.plan;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Limits;
import io.shardtide.workload.ReplicaGroups;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The shards of a plan and the devices that they are on.
 *
 * @param shards the shards, in {@link Shard#ORDER} where they are of a plan
 * @param devices number of devices of a replica group, at least 0: all of them if there is one
 * @param groups the replica groups, whose shards are placed alike
 */
public record PlanShards(List<Shard> shards, int devices, ReplicaGroups groups) {
  /** No plan. */
  public static final PlanShards NONE = new PlanShards(List.of(), 0);

  /** A plan whose devices are one group. */
  public PlanShards(List<Shard> shards, int devices) {
    this(shards, devices, ReplicaGroups.ONE);
  }

  /** Copies what may change. */
  public PlanShards {
    shards = List.copyOf(shards);
    Limits.ARGUMENTS.atLeast("devices", devices, 0);
  }

  /** Returns the number of devices of all groups. */
  public int ranks() {
    return devices * groups.count();
  }

  /** Returns the rank of a device; see {@link ReplicaGroups#rank}. */
  public int rank(int position, int group) {
    return groups.rank(position, group, devices);
  }

  /** Returns the number of a rank in its group; {@link Shard#EVERY_DEVICE} stays as it is. */
  public int position(int rank) {
    return rank == Shard.EVERY_DEVICE ? rank : groups.position(rank, devices);
  }

  /** Returns the ranks with a position, one of each group. */
  public List<Integer> ranks(int position) {
    return IntStream.range(0, groups.count()).mapToObj(group -> rank(position, group)).toList();
  }

  /**
   * Returns a cluster without its memory by device, as wide as the plan, as one of its groups sees
   * it.
   */
  public ClusterSpec group(ClusterSpec cluster) {
    return ClusterSpecBuilder.builder(cluster)
        .devices(ranks())
        .replicaGroups(List.of(groups.count()))
        .memoryBytesByDevice(List.of())
        .build()
        .group(groups);
  }

  /** Returns whether the devices form groups as those of another plan do. */
  boolean isGroupedAs(PlanShards other) {
    return groups.equals(other.groups);
  }

  /** Returns whether each rank has the position that it has in another plan. */
  public boolean keepsPositionsOf(PlanShards other) {
    return isGroupedAs(other) && (!groups.areSeveral() || devices == other.devices);
  }

  /**
   * Returns the group of a rank; of one that is gone, a group that is gone too if it was in one.
   */
  int groupOf(int rank) {
    return groups.groupOf(rank, devices);
  }

  /** Returns the ranks of a group, in the order of their positions. */
  int[] groupRanks(int group) {
    return IntStream.range(0, devices).map(position -> rank(position, group)).toArray();
  }

  /** Returns whether there are no shards. */
  public boolean isEmpty() {
    return shards.isEmpty();
  }
}
