package io.shardtide.cost;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Limits;

/**
 * The devices that take part in a collective.
 *
 * @param devices number of devices, at least 1
 * @param devicesPerNode devices that share a node, 1 to {@code devices}; if the devices are not a
 *     multiple of it, the last node has fewer
 */
public record DeviceGroup(int devices, int devicesPerNode) {
  /** Checks the ranges. */
  public DeviceGroup {
    Limits.of(IllegalArgumentException::new, "a group")
        .whole("devices per node", devicesPerNode, 1, devices);
  }

  /** Returns all devices of a cluster. */
  public static DeviceGroup of(ClusterSpec cluster) {
    return new DeviceGroup(
        cluster.devices(), Math.min(cluster.devices(), cluster.devicesPerNode()));
  }

  /** Returns the number of nodes. */
  public int nodes() {
    return (devices - 1) / devicesPerNode + 1;
  }

  /** Returns the number of other devices in a full node. */
  int peersInNode() {
    return devicesPerNode - 1;
  }

  /** Returns the number of devices in other nodes than a full one. */
  int peersInOtherNodes() {
    return devices - devicesPerNode;
  }

  /** Returns the share of a node's devices that are not a device itself. */
  double shareOfNode() {
    return peersInNode() / (double) devicesPerNode;
  }

  /** Returns the share of the nodes that are not a node itself. */
  double shareOfNodes() {
    return (nodes() - 1.0) / nodes();
  }
}
