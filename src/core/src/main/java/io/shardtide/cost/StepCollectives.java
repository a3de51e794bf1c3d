package io.shardtide.cost;

import io.shardtide.plan.CollectiveCodec;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiConsumer;

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
public final class StepCollectives {
  private static final List<ShardScope> SCOPES = List.of(ShardScope.values());
  private static final List<Direction> DIRECTIONS = List.of(Direction.values());

  /** How many there are. */
  public static final int COUNT = SCOPES.size() * DIRECTIONS.size();

  private final ClusterSpec cluster;
  private final List<CollectiveCodec> codecs;
  private final List<StepCollective> all = new ArrayList<>();

  private StepCollectives(ClusterSpec cluster, List<CollectiveCodec> codecs) {
    this.cluster = cluster;
    this.codecs = List.copyOf(codecs);
    forEach(
        (scope, direction) ->
            all.add(
                new StepCollective(
                    cluster,
                    scope,
                    direction,
                    codecs.stream()
                        .filter(of -> of.scope() == scope && of.direction() == direction)
                        .map(CollectiveCodec::codec)
                        .findFirst())));
  }

  /** Calls for each scope and direction, in the order of {@link #number}. */
  private static void forEach(BiConsumer<ShardScope, Direction> each) {
    for (ShardScope scope : SCOPES) {
      for (Direction direction : DIRECTIONS) {
        each.accept(scope, direction);
      }
    }
  }

  /** Returns the {@link StepCollective#candidates} of each number. */
  public static List<List<StepCollective>> candidates(ClusterSpec cluster) {
    List<List<StepCollective>> all = new ArrayList<>();
    forEach((scope, of) -> all.add(StepCollective.candidates(cluster, scope, of)));
    return all;
  }

  /**
   * Returns the collectives of a step.
   *
   * @param cluster the devices
   * @param codecs the codecs in use, at most one for each scope and direction
   */
  public static StepCollectives of(ClusterSpec cluster, List<CollectiveCodec> codecs) {
    return new StepCollectives(cluster, codecs);
  }

  /** Returns the collectives of a step without codecs. */
  public static StepCollectives of(ClusterSpec cluster) {
    return of(cluster, List.of());
  }

  /** Returns the number of a collective, forward before backward, 0 to below {@link #COUNT}. */
  public static int number(ShardScope scope, Direction direction) {
    return DIRECTIONS.size() * SCOPES.indexOf(scope) + DIRECTIONS.indexOf(direction);
  }

  /** Returns the devices. */
  public ClusterSpec cluster() {
    return cluster;
  }

  /** Returns what shards of a scope communicate in a direction. */
  public StepCollective get(ShardScope scope, Direction direction) {
    return all.get(number(scope, direction));
  }

  /** Returns the codecs in use. */
  public List<CollectiveCodec> codecs() {
    return codecs;
  }

  /** Returns whether encoding and decoding takes time in any. */
  public boolean takeCodingTime() {
    return codecs.stream().anyMatch(of -> of.codec().gigabytesPerSecond() > 0);
  }

  /**
   * Predicts the communication of a step when all devices begin together.
   *
   * @throws IllegalArgumentException if the model does not predict a collective that the loads need
   */
  public CommunicationCost ms(CostEvaluator evaluator, List<DeviceLoad> loads) {
    if (loads.size() != cluster.devices()) {
      throw new IllegalArgumentException(
          "loads must be one for each of %s devices, got %s"
              .formatted(cluster.devices(), loads.size()));
    }
    return new CommunicationCost(
        ms(evaluator, Direction.FORWARD, loads), ms(evaluator, Direction.BACKWARD, loads));
  }

  private double[] ms(CostEvaluator evaluator, Direction direction, List<DeviceLoad> loads) {
    return sum(SCOPES.stream().map(scope -> get(scope, direction).ms(evaluator, loads)).toList());
  }

  /** Returns the sum of the collectives of each scope, by device, always in one order. */
  static double[] sum(List<double[]> of) {
    double[] ms = new double[of.get(0).length];
    Arrays.setAll(ms, d -> of.get(0)[d] + of.get(1)[d] + (of.get(2)[d] + of.get(3)[d]));
    return ms;
  }

  /**
   * Predicts the all-to-alls of a step of shards with all rows, when all devices begin together.
   *
   * @param elements numbers that each device contributes, its own part included
   */
  public CommunicationCost allToAll(CostEvaluator evaluator, double[] elements) {
    return new CommunicationCost(
        get(ShardScope.DEVICE, Direction.FORWARD).ms(evaluator, elements),
        get(ShardScope.DEVICE, Direction.BACKWARD).ms(evaluator, elements));
  }
}
