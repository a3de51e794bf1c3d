package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;
import java.util.Arrays;
import java.util.List;

/**
 * The collectives of a step, one after another, for each scope that has shards:
 *
 * <ul>
 *   <li>devices: an all-to-all over all devices, forward and backward;
 *   <li>nodes: a reduce-scatter in each node and, between nodes, an all-to-all of the devices with
 *       the same number in their nodes; backward the same all-to-all and an all-gather;
 *   <li>all devices: a reduce-scatter; backward an all-gather;
 *   <li>copies: backward an all-reduce of all copies together, in single precision.
 * </ul>
 *
 * <p>If the devices are not a multiple of {@code devicesPerNode}, the last node is smaller: its
 * reduce-scatter is over fewer devices, and all nodes take part in the all-to-all between nodes.
 */
final class StepCollectives {
  private final CostEvaluator evaluator;
  private final ClusterSpec cluster;
  private final DeviceGroup all;

  private StepCollectives(CostEvaluator evaluator, ClusterSpec cluster) {
    this.evaluator = evaluator;
    this.cluster = cluster;
    all = DeviceGroup.of(cluster);
  }

  /** Predicts all collectives of a step. */
  static CommunicationCost of(
      CostEvaluator evaluator, ClusterSpec cluster, List<DeviceLoad> loads) {
    if (loads.size() != cluster.devices()) {
      throw new IllegalArgumentException(
          "loads must be one for each of %d devices, got %d"
              .formatted(cluster.devices(), loads.size()));
    }
    StepCollectives step = new StepCollectives(evaluator, cluster);
    return new CommunicationCost(
        step.ms(Direction.FORWARD, loads), step.ms(Direction.BACKWARD, loads));
  }

  /** Predicts the all-to-alls of a step, given the numbers that each device contributes. */
  static CommunicationCost allToAll(
      CostEvaluator evaluator, ClusterSpec cluster, double[] elements) {
    StepCollectives step = new StepCollectives(evaluator, cluster);
    return new CommunicationCost(
        step.allToAll(Direction.FORWARD, elements, step.all),
        step.allToAll(Direction.BACKWARD, elements, step.all));
  }

  private double[] ms(Direction direction, List<DeviceLoad> loads) {
    double[] ms = allToAll(direction, elements(loads, ShardScope.DEVICE), all);
    addNodes(direction, elements(loads, ShardScope.NODE), ms);
    double rows = elements(loads, ShardScope.CLUSTER)[0];
    double common = evaluator.bufferMs(BufferCollective.ofRows(direction, rows, cluster), all);
    if (direction == Direction.BACKWARD) {
      double copies = elements(loads, ShardScope.COPIES)[0];
      common += evaluator.bufferMs(BufferCollective.ofCopies(copies), all);
    }
    for (int d = 0; d < ms.length; d++) {
      ms[d] += common;
    }
    return ms;
  }

  private static double[] elements(List<DeviceLoad> loads, ShardScope scope) {
    return loads.stream().mapToDouble(load -> load.elements(scope)).toArray();
  }

  /** Returns an all-to-all of devices, or of the devices with the same number in their nodes. */
  private double[] allToAll(Direction direction, double[] elements, DeviceGroup group) {
    double toPeer = cluster.wireBytesPerElement(direction) / cluster.devices();
    AllToAllLoad load = AllToAllLoad.of(group, elements, toPeer);
    double[] ms = new double[elements.length];
    for (int i = 0; i < elements.length; i++) {
      ms[i] =
          i > 0 && elements[i] == elements[i - 1]
              ? ms[i - 1]
              : evaluator.allToAllMs(direction, elements[i] * toPeer, load);
    }
    return ms;
  }

  /** Adds the collectives of shards whose rows are split over a node. */
  private void addNodes(Direction direction, double[] elements, double[] ms) {
    double[] ofNodes = new double[cluster.nodes()];
    Arrays.setAll(ofNodes, node -> elements[cluster.devicesOfNode(node).get(0)]);
    if (Arrays.stream(ofNodes).allMatch(e -> e == 0)) {
      return;
    }
    double[] between = allToAll(direction, ofNodes, new DeviceGroup(ofNodes.length, 1));
    for (int node = 0; node < ofNodes.length; node++) {
      List<Integer> devices = cluster.devicesOfNode(node);
      double inside =
          evaluator.bufferMs(
              BufferCollective.ofRows(direction, ofNodes[node], cluster),
              new DeviceGroup(devices.size(), devices.size()));
      for (int device : devices) {
        ms[device] += inside + between[node];
      }
    }
  }
}
