package io.shardtide.cost;

import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;

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
 * @param cluster the devices
 * @param codecs the codecs in use, in {@link CollectiveCodec#ORDER}, at most one for each scope and
 *     direction
 */
public record StepCollectives(ClusterSpec cluster, List<CollectiveCodec> codecs) {
  private static final List<ShardScope> SCOPES = List.of(ShardScope.values());
  private static final List<Direction> DIRECTIONS = List.of(Direction.values());

  /** How many there are. */
  public static final int COUNT = SCOPES.size() * DIRECTIONS.size();

  /** Sorts the codecs. */
  public StepCollectives {
    codecs = codecs.stream().sorted(CollectiveCodec.ORDER).toList();
  }

  /** Returns the collectives of a step without codecs. */
  public static StepCollectives of(ClusterSpec cluster) {
    return new StepCollectives(cluster, List.of());
  }

  /** Returns the collectives of a step of a plan. */
  public static StepCollectives of(ClusterSpec cluster, ShardingPlan plan) {
    return new StepCollectives(cluster, plan.codecs());
  }

  private static <T> List<T> each(BiFunction<ShardScope, Direction, T> of) {
    return SCOPES.stream()
        .flatMap(scope -> DIRECTIONS.stream().map(direction -> of.apply(scope, direction)))
        .toList();
  }

  /** Returns the {@link StepCollective#candidates} of each number. */
  public static List<List<StepCollective>> candidates(ClusterSpec cluster) {
    return each((scope, direction) -> StepCollective.candidates(cluster, scope, direction));
  }

  /** Returns the collective of each number. */
  public List<StepCollective> all() {
    return each(this::get);
  }

  /** Returns the number of a collective, forward before backward, 0 to below {@link #COUNT}. */
  public static int number(ShardScope scope, Direction direction) {
    return DIRECTIONS.size() * SCOPES.indexOf(scope) + DIRECTIONS.indexOf(direction);
  }

  /** Returns what shards of a scope communicate in a direction. */
  public StepCollective get(ShardScope scope, Direction direction) {
    return new StepCollective(
        cluster,
        scope,
        direction,
        codecs.stream()
            .filter(of -> of.scope() == scope && of.direction() == direction)
            .map(CollectiveCodec::codec)
            .findFirst());
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
