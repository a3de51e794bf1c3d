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
 *
 * <p>{@link StepComm} has the bytes of an element and what coding them adds.
 */
final class StepCollectives {
  private final CostEvaluator evaluator;
  private final StepComm wire;
  private final ClusterSpec cluster;
  private final DeviceGroup all;

  StepCollectives(CostEvaluator evaluator, StepComm wire) {
    this.evaluator = evaluator;
    this.wire = wire;
    cluster = wire.cluster();
    all = DeviceGroup.of(cluster);
  }

  /** Predicts all collectives of a step. */
  static CommunicationCost of(CostEvaluator evaluator, StepComm wire, List<DeviceLoad> loads) {
    int devices = wire.cluster().devices();
    if (loads.size() != devices) {
      throw new IllegalArgumentException(
          "loads must be one for each of %s devices, got %s".formatted(devices, loads.size()));
    }
    StepCollectives step = new StepCollectives(evaluator, wire);
    return new CommunicationCost(
        step.ms(Direction.FORWARD, loads), step.ms(Direction.BACKWARD, loads));
  }

  /** Predicts the all-to-alls of a step, given the numbers that each device contributes. */
  static CommunicationCost allToAll(CostEvaluator evaluator, StepComm wire, double[] elements) {
    StepCollectives step = new StepCollectives(evaluator, wire);
    return new CommunicationCost(
        step.allToAll(ShardScope.DEVICE, Direction.FORWARD, elements, step.all),
        step.allToAll(ShardScope.DEVICE, Direction.BACKWARD, elements, step.all));
  }

  private double[] ms(Direction direction, List<DeviceLoad> loads) {
    return sum(
        of(ShardScope.DEVICE, direction, loads),
        of(ShardScope.NODE, direction, loads),
        of(ShardScope.CLUSTER, direction, loads),
        of(ShardScope.COPIES, direction, loads));
  }

  /** Returns the sum of the collectives of each scope, by device, always in one order. */
  static double[] sum(double[] ofDevices, double[] ofNodes, double[] ofRows, double[] ofCopies) {
    double[] ms = new double[ofDevices.length];
    for (int d = 0; d < ms.length; d++) {
      ms[d] = ofDevices[d] + ofNodes[d] + (ofRows[d] + ofCopies[d]);
    }
    return ms;
  }

  /** Predicts the collectives of one scope on each device, in milliseconds. */
  double[] of(ShardScope scope, Direction direction, List<DeviceLoad> loads) {
    return of(scope, direction, loads.stream().mapToDouble(load -> load.elements(scope)).toArray());
  }

  /**
   * Predicts the collectives of one scope on each device, in milliseconds.
   *
   * @param elements numbers that the shards of each device contribute
   */
  double[] of(ShardScope scope, Direction direction, double[] elements) {
    return switch (scope) {
      case DEVICE -> allToAll(scope, direction, elements, all);
      case NODE -> nodes(direction, elements);
      case CLUSTER -> onAll(wire.rowsMs(evaluator, scope, direction, all, elements[0]));
      case COPIES ->
          onAll(
              direction == Direction.FORWARD
                  ? 0
                  : evaluator.bufferMs(BufferCollective.ofCopies(elements[0]), all));
    };
  }

  private double[] onAll(double ms) {
    double[] all = new double[cluster.devices()];
    Arrays.fill(all, ms);
    return all;
  }

  /** Returns an all-to-all of devices, or of the devices with the same number in their nodes. */
  private double[] allToAll(
      ShardScope scope, Direction direction, double[] elements, DeviceGroup group) {
    double toPeer = wire.bytesPerElement(scope, direction) / cluster.devices();
    AllToAllLoad load = AllToAllLoad.of(group, elements, toPeer);
    boolean isSent = group.devices() > 1 && load.maxBytes() > 0;
    double mean = isSent ? Arrays.stream(elements).sum() / elements.length : 0;
    double[] ms = new double[elements.length];
    for (int i = 0; i < elements.length; i++) {
      ms[i] =
          i > 0 && elements[i] == elements[i - 1]
              ? ms[i - 1]
              : evaluator.allToAllMs(direction, elements[i] * toPeer, load)
                  + (isSent
                      ? wire.allToAllCodingMs(scope, direction, group, elements[i], mean)
                      : 0);
    }
    return ms;
  }

  /** Returns the collectives of shards whose rows are split over a node. */
  private double[] nodes(Direction direction, double[] elements) {
    double[] ms = new double[elements.length];
    double[] ofNodes = new double[cluster.nodes()];
    Arrays.setAll(ofNodes, node -> elements[cluster.devicesOfNode(node).get(0)]);
    if (Arrays.stream(ofNodes).allMatch(e -> e == 0)) {
      return ms;
    }
    double[] between =
        allToAll(ShardScope.NODE, direction, ofNodes, new DeviceGroup(ofNodes.length, 1));
    for (int node = 0; node < ofNodes.length; node++) {
      List<Integer> devices = cluster.devicesOfNode(node);
      DeviceGroup group = new DeviceGroup(devices.size(), devices.size());
      double inside = wire.rowsMs(evaluator, ShardScope.NODE, direction, group, ofNodes[node]);
      for (int device : devices) {
        ms[device] = inside + between[node];
      }
    }
    return ms;
  }
}
