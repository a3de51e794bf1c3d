package io.shardtide.workload;

import java.util.List;

/** Where the rows of a column part are, which decides what a step communicates for it. */
public enum ShardScope implements Named {
  /** All on one device: an all-to-all of outputs, and one of gradients. */
  DEVICE,
  /**
   * Split over the devices of a node: a reduce-scatter of partial sums in the node and an
   * all-to-all between nodes; backward an all-gather and the same all-to-all.
   */
  NODE,
  /** Split over all devices: a reduce-scatter, backward an all-gather. */
  CLUSTER,
  /** All on each device, as copies: an all-reduce of gradients. */
  COPIES;

  /** Returns the collectives that a step may have for such parts, in their order. */
  public List<Collective> collectives(Direction direction) {
    boolean forward = direction == Direction.FORWARD;
    return switch (this) {
      case DEVICE -> List.of(Collective.ALL_TO_ALL);
      case NODE ->
          forward
              ? List.of(Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL)
              : List.of(Collective.ALL_TO_ALL, Collective.ALL_GATHER);
      case CLUSTER -> List.of(forward ? Collective.REDUCE_SCATTER : Collective.ALL_GATHER);
      case COPIES -> forward ? List.of() : List.of(Collective.ALL_REDUCE);
    };
  }

  /** Returns how many devices a part is on; of a node, a full one. */
  public int devices(ClusterSpec cluster) {
    return devices(cluster.devices(), cluster.devicesPerNode());
  }

  /** Returns how many parts can be at places of their own. */
  public int places(ClusterSpec cluster) {
    return (cluster.devices() - 1) / devices(cluster) + 1;
  }

  /** Returns how many devices a part is on, of so many; see {@link #devices(ClusterSpec)}. */
  public int devices(int all, int perNode) {
    return switch (this) {
      case DEVICE -> 1;
      case NODE -> Math.min(all, perNode);
      case CLUSTER, COPIES -> all;
    };
  }
}
