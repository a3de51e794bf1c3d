package io.shardtide.search.local;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.BufferCollective;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.StepComm;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.ShapeCosts;

/**
 * Estimates of the milliseconds that a part adds to a step whose devices are equally loaded: its
 * computation, and its share of collectives, at the rate of large ones. To choose among ways to
 * shard a table before there is a plan.
 */
final class OptionEstimates {
  /** Bytes at which collectives are as fast as they get. */
  private static final double LARGE_BYTES = 1L << 26;

  private final ShapeCosts costs;
  private final CostEvaluator evaluator;
  private final ClusterSpec cluster;
  private final StepComm wire;
  private final Places places;
  private final double msPerUnit;
  private final double msPerUnitBetweenNodes;

  OptionEstimates(
      ShapeCosts costs,
      CostEvaluator evaluator,
      StepComm wire,
      Places places,
      AllToAllCosts allToAll) {
    this.costs = costs;
    this.evaluator = evaluator;
    this.wire = wire;
    cluster = wire.cluster();
    this.places = places;
    int even = Math.max(1, costs.totalUnits() / cluster.devices());
    msPerUnit = evenMs(allToAll, even, costs.totalUnits()) / even;
    AllToAllCosts between =
        new AllToAllCosts(evaluator, wire, ShardScope.NODE, costs.elementsPerNodeUnit());
    int total = costs.totalNodeUnits();
    int ofNode = Math.max(1, total / places.nodes());
    msPerUnitBetweenNodes = evenMs(between, ofNode, total) / ofNode;
  }

  private static double evenMs(AllToAllCosts costs, int units, int total) {
    return costs.forwardMs(units, units, total, AllToAllLoad.LEVELS)
        + costs.backwardMs(units, units, total, AllToAllLoad.LEVELS);
  }

  /** Returns the milliseconds of an all-to-all for each unit of a device's load. */
  double msPerUnit() {
    return msPerUnit;
  }

  /** Returns the estimate of parts of a scope together, in milliseconds. */
  double workMs(ShardScope scope, int[] shapes) {
    double sum = 0;
    for (int shape : shapes) {
      sum += workMs(scope, shape);
    }
    return sum;
  }

  private double workMs(ShardScope scope, int shape) {
    double devices = cluster.devices();
    double elements = costs.load(shape).elements();
    return switch (scope) {
      case DEVICE -> (costs.aloneMs(shape) + msPerUnit * costs.allToAllUnits(shape)) / devices;
      case NODE -> {
        int size = places.size(places.ofNode(0));
        yield (costs.aloneMs(shape)
                + rowsMs(scope, elements, new DeviceGroup(size, size))
                + msPerUnitBetweenNodes * costs.nodeUnits(shape))
            * size
            / devices;
      }
      case CLUSTER ->
          costs.aloneMs(shape)
              + (costs.load(shape).scope() == ShardScope.CLUSTER
                  ? rowsMs(scope, elements, DeviceGroup.of(cluster))
                  : msPerUnit * costs.allToAllUnits(shape));
      case COPIES ->
          costs.aloneMs(shape)
              + rateMs(BufferCollective.ofCopies(elements), DeviceGroup.of(cluster));
    };
  }

  private double rowsMs(ShardScope scope, double elements, DeviceGroup group) {
    return rowsMs(scope, Direction.FORWARD, elements, group)
        + rowsMs(scope, Direction.BACKWARD, elements, group);
  }

  private double rowsMs(ShardScope scope, Direction direction, double elements, DeviceGroup group) {
    return rateMs(BufferCollective.ofRows(wire, scope, direction, elements), group)
        + wire.rowsCodingMs(scope, direction, group, elements);
  }

  /** Returns the time of bytes that are added to a large collective. */
  private double rateMs(BufferCollective added, DeviceGroup group) {
    return largeMs(added, added.bytes(), group) - largeMs(added, 0, group);
  }

  private double largeMs(BufferCollective kind, double added, DeviceGroup group) {
    return evaluator.bufferMs(
        new BufferCollective(kind.collective(), kind.direction(), LARGE_BYTES + added), group);
  }
}
