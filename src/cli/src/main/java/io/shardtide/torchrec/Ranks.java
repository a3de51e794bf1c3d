package io.shardtide.torchrec;

import io.shardtide.workload.ShardKind;

/**
 * The ranks of a plan.
 *
 * @param worldSize number of devices, at least 1
 * @param perNode devices per node, 1 to the world size
 * @param perHost devices whose numbers differ: those of a host, where a node spans several, or else
 *     those of a node
 */
record Ranks(int worldSize, int perNode, int perHost) {
  static Ranks of(int worldSize, int devicesPerNode, int hostDevices) {
    int perNode = Math.min(devicesPerNode, worldSize);
    return new Ranks(worldSize, perNode, Math.min(hostDevices, perNode));
  }

  /** Returns over how many devices the rows of a column part are split: 1 if they are not. */
  int rowDevices(ShardKind type) {
    return switch (type.scope()) {
      case CLUSTER -> worldSize;
      case NODE -> perNode;
      case DEVICE, COPIES -> 1;
    };
  }

  /** Returns the number of a rank's device on its host. */
  int device(int rank) {
    return rank % perHost;
  }

  int node(int rank) {
    return rank / perNode;
  }
}
