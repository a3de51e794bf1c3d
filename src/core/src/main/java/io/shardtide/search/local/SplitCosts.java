package io.shardtide.search.local;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.BufferCollective;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.StepComm;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;

/**
 * The communication of the parts that are split over a node or all devices, or copied: for each
 * node the same on all its devices. {@link io.shardtide.cost.StepCost} has the collectives.
 *
 * <p>Recomputed only where loads have changed: moves of parts with all rows leave it as it is.
 */
final class SplitCosts {
  private final CostEvaluator evaluator;
  private final StepComm wire;
  private final Places places;
  private final DeviceGroup all;
  private final AllToAllCosts between;
  private final double elementsPerUnit;
  private final int[] nodeUnits;
  private final double[] nodeForwardMs;
  private final double[] nodeBackwardMs;
  private double rowElements;
  private double copyElements;
  private double commonForwardMs;
  private double commonBackwardMs;

  SplitCosts(CostEvaluator evaluator, StepComm wire, Places places, double elementsPerUnit) {
    this.evaluator = evaluator;
    this.wire = wire;
    this.places = places;
    this.elementsPerUnit = elementsPerUnit;
    all = DeviceGroup.of(wire.cluster());
    between = new AllToAllCosts(evaluator, wire, ShardScope.NODE, elementsPerUnit);
    nodeUnits = new int[places.nodes()];
    nodeForwardMs = new double[nodeUnits.length];
    nodeBackwardMs = new double[nodeUnits.length];
  }

  /** Returns a calculator of the same costs, before any assignment. */
  SplitCosts copy() {
    return new SplitCosts(evaluator, wire, places, elementsPerUnit);
  }

  /** Returns the forward collectives of a device, in milliseconds. */
  double forwardMs(int device) {
    return nodeForwardMs[places.nodeOf(device)] + commonForwardMs;
  }

  /** Returns the backward collectives of a device, in milliseconds. */
  double backwardMs(int device) {
    return nodeBackwardMs[places.nodeOf(device)] + commonBackwardMs;
  }

  /** Recomputes what has changed in an assignment. */
  void refresh(Assignment assignment) {
    refreshNodes(assignment);
    double rows = assignment.rowElements();
    double copies = assignment.copyElements();
    if (rows == rowElements && copies == copyElements) {
      return;
    }
    rowElements = rows;
    copyElements = copies;
    commonForwardMs = ofRows(ShardScope.CLUSTER, Direction.FORWARD, rows, all);
    commonBackwardMs =
        ofRows(ShardScope.CLUSTER, Direction.BACKWARD, rows, all)
            + evaluator.bufferMs(BufferCollective.ofCopies(copies), all);
  }

  private void refreshNodes(Assignment assignment) {
    boolean same = true;
    int max = 0;
    int total = 0;
    for (int node = 0; node < nodeUnits.length; node++) {
      int units = assignment.nodeUnits(node);
      same &= units == nodeUnits[node];
      nodeUnits[node] = units;
      max = Math.max(max, units);
      total += units;
    }
    if (same) {
      return;
    }
    int level = AllToAllLoad.level(max, (double) total / nodeUnits.length);
    for (int node = 0; node < nodeUnits.length; node++) {
      int devices = places.size(places.ofNode(node));
      DeviceGroup inside = new DeviceGroup(devices, devices);
      double elements = nodeUnits[node] * elementsPerUnit;
      nodeForwardMs[node] =
          ofRows(ShardScope.NODE, Direction.FORWARD, elements, inside)
              + between.forwardMs(nodeUnits[node], max, total, level);
      nodeBackwardMs[node] =
          ofRows(ShardScope.NODE, Direction.BACKWARD, elements, inside)
              + between.backwardMs(nodeUnits[node], max, total, level);
    }
  }

  private double ofRows(ShardScope scope, Direction direction, double elements, DeviceGroup group) {
    return wire.rowsMs(evaluator, scope, direction, group, elements);
  }
}
