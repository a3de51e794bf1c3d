package io.shardtide.search.local;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.DeviceGroup;

/**
 * All-to-all loads of nodes: the level of the largest one, which enters the costs of all devices. A
 * move changes the loads of at most two nodes.
 */
final class NodeLoads {
  private final DeviceGroup group;
  private double meanUnits;

  /** Mean load of the devices of each node, in units. */
  private final double[] means;

  private final LargestThree largest;
  private int level = AllToAllLoad.LEVELS;

  NodeLoads(DeviceGroup group) {
    this.group = group;
    means = new double[group.nodes()];
    largest = new LargestThree(means);
  }

  /** Recomputes the loads from an assignment. */
  void refresh(Assignment assignment) {
    meanUnits = (double) assignment.totalUnits() / group.devices();
    for (int node = 0; node < means.length; node++) {
      means[node] = (double) units(assignment, node) / size(node);
    }
    largest.rank();
    level = level(largest.largestBut(-1, -1));
  }

  private int units(Assignment assignment, int node) {
    int first = node * group.devicesPerNode();
    int units = 0;
    for (int d = first; d < first + size(node); d++) {
      units += assignment.allToAllUnits(d);
    }
    return units;
  }

  private int size(int node) {
    int first = node * group.devicesPerNode();
    return Math.min(group.devicesPerNode(), group.devices() - first);
  }

  private int level(double largestMean) {
    return means.length == 1 ? AllToAllLoad.LEVELS : AllToAllLoad.level(largestMean, meanUnits);
  }

  /** Returns the level of the node with the largest load. */
  int level() {
    return level;
  }

  /**
   * Returns the level after two devices gain loads, which leave the load of all as it is.
   *
   * @param gained units that the first device gains, which may be negative
   * @param gainedByOther the same of the other device; ignored if it is the first one
   */
  int levelAfter(int device, int gained, int other, int gainedByOther) {
    int node = device / group.devicesPerNode();
    int otherNode = other / group.devicesPerNode();
    if (means.length == 1
        || (node == otherNode && (other == device ? gained : gained + gainedByOther) == 0)) {
      return level;
    }
    double max = largest.largestBut(node, otherNode);
    if (node == otherNode) {
      int both = other == device ? gained : gained + gainedByOther;
      return level(Math.max(max, means[node] + (double) both / size(node)));
    }
    max = Math.max(max, means[node] + (double) gained / size(node));
    return level(Math.max(max, means[otherNode] + (double) gainedByOther / size(otherNode)));
  }
}
