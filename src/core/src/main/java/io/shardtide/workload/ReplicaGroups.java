package io.shardtide.workload;

/**
 * The devices of a cluster as groups of equal size. Each group holds all sharded tables, placed
 * alike, and trains on its part of the batch; every few steps, an all-reduce over the devices with
 * the same position in their groups synchronizes them (2D parallelism: TorchRec's {@code
 * DMPCollection}; Zhang et al., 2D Sparse Parallelism, 2025).
 *
 * @param count number of groups, at least 1
 * @param layout which ranks form a group; {@link GroupLayout#CONSECUTIVE} of one group
 */
public record ReplicaGroups(int count, GroupLayout layout) {
  /** All devices hold one copy of the sharded tables. */
  public static final ReplicaGroups ONE = new ReplicaGroups(1, GroupLayout.CONSECUTIVE);

  /** Checks the number of groups. */
  public ReplicaGroups {
    if (count < 1 || (count == 1 && layout != GroupLayout.CONSECUTIVE)) {
      throw new IllegalArgumentException(
          "groups must be at least 1, and one group consecutive; got %s, %s"
              .formatted(count, layout.label()));
    }
  }

  /** Returns whether there are several groups. */
  public boolean areSeveral() {
    return count > 1;
  }

  /**
   * Returns the rank of a device.
   *
   * @param position its number in its group, from 0
   * @param group the number of its group, from 0
   * @param groupSize devices of a group
   */
  public int rank(int position, int group, int groupSize) {
    return layout == GroupLayout.CONSECUTIVE
        ? group * groupSize + position
        : position * count + group;
  }

  /** Returns the number of the group that a rank belongs to; see {@link #rank}. */
  public int groupOf(int rank, int groupSize) {
    return count == 1 ? 0 : layout == GroupLayout.CONSECUTIVE ? rank / groupSize : rank % count;
  }

  /** Returns the number of a rank in its group; see {@link #rank}. */
  public int position(int rank, int groupSize) {
    return layout == GroupLayout.CONSECUTIVE
        ? rank - groupOf(rank, groupSize) * groupSize
        : rank / count;
  }

  /** Returns whether ranks have the same positions in groups of two sizes. */
  public boolean keepPositions(int groupSize, int otherSize) {
    return count == 1 || layout == GroupLayout.STRIDED || groupSize == otherSize;
  }

  /**
   * Returns how many devices of a group are on a node; 0 if nodes cannot be divided like that, and
   * as many as of all groups if there is one.
   *
   * @param devices devices of all groups, a multiple of the number of groups
   * @param devicesPerNode devices of all groups that share a node
   */
  public int groupDevicesPerNode(int devices, int devicesPerNode) {
    if (count == 1) {
      return devicesPerNode;
    }
    int size = devices / count;
    int perNode = Math.min(devices, devicesPerNode);
    if (layout == GroupLayout.STRIDED) {
      return perNode % count == 0 ? perNode / count : count % perNode == 0 ? 1 : 0;
    }
    return perNode % size == 0 ? size : size % perNode == 0 ? perNode : 0;
  }

  /** Returns how many devices with the same position in their groups are on a node. */
  public int peersPerNode(ClusterSpec cluster) {
    int perNode = Math.min(cluster.devices(), cluster.devicesPerNode());
    return layout == GroupLayout.STRIDED
        ? Math.min(perNode, count)
        : Math.max(1, perNode / (cluster.devices() / count));
  }

  /** Returns these groups for people. */
  public String describe() {
    return count == 1 ? "one group" : "%s %s groups".formatted(count, layout.label());
  }
}
