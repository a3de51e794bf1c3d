package io.shardtide.torchrec;

import io.shardtide.domain.ShardKind;

/**
 * The ranks of a plan.
 *
 * @param worldSize number of devices, at least 1
 * @param perNode devices per node, 1 to the world size: TorchRec's local world size
 */
record Ranks(int worldSize, int perNode) {
  static Ranks of(int worldSize, int devicesPerNode) {
    return new Ranks(worldSize, Math.min(devicesPerNode, worldSize));
  }

  /** Returns over how many devices the rows of a column part are split: 1 if they are not. */
  int rowDevices(ShardKind type) {
    return switch (type.scope()) {
      case CLUSTER -> worldSize;
      case NODE -> perNode;
      case DEVICE, COPIES -> 1;
    };
  }

  int node(int rank) {
    return rank / perNode;
  }
}
