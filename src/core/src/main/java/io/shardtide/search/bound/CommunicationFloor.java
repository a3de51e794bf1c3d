package io.shardtide.search.bound;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.StepCollective;
import io.shardtide.cost.StepCollectives;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;

/**
 * The least that the collectives of a step take, in milliseconds, by what all devices contribute on
 * average. Where codecs may be chosen, each collective takes the least that it does with any.
 */
final class CommunicationFloor {
  /** Ratio of a load to the next one where a straight line is put below a collective. */
  private static final double GRID = 1.05;

  /** All-to-alls are looked at for mean loads of so many shares of the largest one. */
  private static final int MEANS = 4;

  /** Mean load of all devices as a share of the largest one, where it is hardly above 0. */
  private static final double LEAST_MEAN = 1.0 / 64;

  /**
   * Nets are neither monotonous nor convex: with the shipped models, 60,000 all-to-alls of random
   * uneven loads took at least 0.988 of what even loads say, and 0.977 where each direction may
   * have a codec or none; collectives of rows and copies at least 1 - 1e-8.
   */
  private static final double SHARE = 0.985;

  private static final double SHARE_WITH_CODECS = 0.97;

  /** By how much more a single device may be below the mean, as a share of both all-to-alls. */
  private static final double DEVICE_SHARE = 0.01;

  private final CostEvaluator evaluator;
  private final ClusterSpec cluster;
  private final List<List<StepCollective>> candidates;
  private final DeviceGroup all;
  private final Map<String, Samples> samples = new HashMap<>();

  /** What of a collective's predicted time is taken as its least. */
  private final double share;

  CommunicationFloor(ClusterSpec cluster, CostEvaluator evaluator) {
    this.evaluator = evaluator;
    this.cluster = cluster;
    all = DeviceGroup.of(cluster);
    candidates = StepCollectives.candidates(cluster);
    share = candidates.stream().allMatch(of -> of.size() == 1) ? SHARE : SHARE_WITH_CODECS;
  }

  private List<StepCollective> candidates(ShardScope scope, Direction direction) {
    return candidates.get(StepCollectives.number(scope, direction));
  }

  /**
   * Both all-to-alls of devices of which the one with the largest load has some load.
   *
   * @param baseMs what both take on average of all devices, less {@link #meanSlope} for each
   *     element that they contribute on average
   * @param ownMs how much shorter the backward one is at most on a device without load
   */
  record AllToAll(double baseMs, double ownMs) {
    static final AllToAll NONE = new AllToAll(0, 0);

    /** Returns what lies between this and another one, closer to it the larger the share is. */
    AllToAll towards(AllToAll other, double share) {
      return new AllToAll(
          baseMs + share * (other.baseMs - baseMs), ownMs + share * (other.ownMs - ownMs));
    }
  }

  /** A collective at loads that are {@link #GRID} times the one before, as far as was asked. */
  private static final class Samples {
    final double fewest;
    private final DoubleUnaryOperator ofLoad;
    private final List<Double> ms = new ArrayList<>();
    private double next;

    Samples(double fewest, DoubleUnaryOperator ofLoad) {
      this.fewest = fewest;
      this.ofLoad = ofLoad;
      next = fewest;
    }

    double ms(int i) {
      for (; ms.size() <= i; next *= GRID) {
        ms.add(ofLoad.applyAsDouble(next));
      }
      return ms.get(i);
    }
  }

  /** A straight line below a collective, milliseconds by elements. */
  record Line(double ms, double msPerElement) {
    static final Line ZERO = new Line(0, 0);

    Line plus(Line other) {
      return new Line(ms + other.ms, msPerElement + other.msPerElement);
    }
  }

  /**
   * Returns by how much both all-to-alls of devices get longer with each element that devices
   * contribute on average, if the largest load stays.
   *
   * @param largest the largest load
   */
  double meanSlope(double largest) {
    if (all.devices() == 1 || largest == 0) {
      return 0;
    }
    double half = bothMs(largest, largest / 2);
    double whole = bothMs(largest, largest);
    return Math.max(0, (whole - half) / (largest / 2));
  }

  /**
   * Returns the all-to-alls of shards on devices.
   *
   * @param largest the largest load of a device
   * @param meanSlope {@link #meanSlope} of any load
   */
  AllToAll allToAll(double largest, double meanSlope) {
    if (all.devices() == 1 || largest == 0) {
      return AllToAll.NONE;
    }
    double base = Double.POSITIVE_INFINITY;
    double own = 0;
    for (int i = 0; i <= MEANS; i++) {
      double mean = largest * Math.max(LEAST_MEAN, (double) i / MEANS);
      base = Math.min(base, bothMs(largest, mean) - meanSlope * mean);
      for (StepCollective of : candidates(ShardScope.DEVICE, Direction.BACKWARD)) {
        own = Math.max(own, ownMs(of, largest, mean, largest) - ownMs(of, largest, mean, 0));
      }
    }
    double most = bothMs(largest, largest);
    return new AllToAll(base, own + DEVICE_SHARE * most);
  }

  /** Returns the mean of all devices of both all-to-alls, by the largest and the mean load. */
  private double bothMs(double largest, double mean) {
    return meanMs(ShardScope.DEVICE, Direction.FORWARD, largest, mean)
        + meanMs(ShardScope.DEVICE, Direction.BACKWARD, largest, mean);
  }

  private double meanMs(ShardScope scope, Direction direction, double largest, double mean) {
    double ms = Double.POSITIVE_INFINITY;
    for (StepCollective of : candidates(scope, direction)) {
      double none = ownMs(of, largest, mean, 0);
      double most = ownMs(of, largest, mean, largest);
      double half = ownMs(of, largest, mean, largest / 2);
      double sag = Math.min(0, half - (none + most) / 2);
      ms = Math.min(ms, none + (most - none) * mean / largest + sag);
    }
    return share * ms;
  }

  private double ownMs(StepCollective of, double largest, double mean, double own) {
    double toEach = of.bytesToEach();
    AllToAllLoad load =
        new AllToAllLoad(of.members(), largest * toEach, mean * toEach, AllToAllLoad.LEVELS);
    return of.allToAllMs(evaluator, own * toEach, load, own, mean);
  }

  /**
   * Returns a line below both directions of what shards of a scope need beside all-to-alls of
   * devices, on average of all devices.
   *
   * @param fewest the least elements that there may be if there are some
   * @param most the most elements
   * @param mostMs longer collectives are no matter
   */
  Line line(ShardScope scope, double fewest, double most, double mostMs) {
    if (!(most > 0) || cluster.devices() == 1) {
      return Line.ZERO;
    }
    return switch (scope) {
      case DEVICE -> Line.ZERO;
      case NODE ->
          nodes(Direction.FORWARD, fewest, most, mostMs)
              .plus(nodes(Direction.BACKWARD, fewest, most, mostMs));
      case CLUSTER, COPIES ->
          below(
              samples(
                  scope.name(),
                  fewest,
                  e ->
                      bufferMs(scope, Direction.FORWARD, e)
                          + bufferMs(scope, Direction.BACKWARD, e)),
              most,
              mostMs);
    };
  }

  /** Returns the part of {@link #line} for shards split over nodes that is in one direction. */
  Line nodes(Direction direction, double fewest, double most, double mostMs) {
    if (!(most > 0) || cluster.nodes() == 1) {
      return Line.ZERO;
    }
    Line line =
        below(
            samples(
                "between nodes " + direction,
                fewest,
                e -> meanMs(ShardScope.NODE, direction, e, e)),
            most,
            mostMs);
    // A node without such shards takes no part in what is inside nodes.
    Samples ofNode =
        samples("in a node " + direction, fewest, e -> bufferMs(ShardScope.NODE, direction, e));
    double least = Double.POSITIVE_INFINITY;
    double end = most * cluster.nodes() * GRID;
    double e = fewest;
    double ms = 0;
    for (int i = 0; e <= end && ms <= mostMs; i++) {
      ms = ofNode.ms(i);
      least = Math.min(least, ms / e);
      e *= GRID;
    }
    return new Line(line.ms(), line.msPerElement() + least);
  }

  private Samples samples(String what, double fewest, DoubleUnaryOperator ms) {
    return samples.computeIfAbsent(what + fewest, key -> new Samples(fewest, ms));
  }

  /**
   * Returns the line from the first load to the last one, moved below all between them; or, if that
   * were below 0 without load, the steepest one from 0.
   */
  private static Line below(Samples of, double most, double mostMs) {
    int last = 0;
    double end = of.fewest;
    while (end < most && of.ms(last) <= mostMs) {
      end *= GRID;
      last++;
    }
    double slope = last == 0 ? 0 : Math.max(0, (of.ms(last) - of.ms(0)) / (end - of.fewest));
    double at0 = Double.POSITIVE_INFINITY;
    double leastSlope = Double.POSITIVE_INFINITY;
    double e = of.fewest;
    for (int i = 0; i <= last; i++) {
      at0 = Math.min(at0, of.ms(i) - slope * e);
      leastSlope = Math.min(leastSlope, of.ms(i) / e);
      e *= GRID;
    }
    return at0 >= 0 ? new Line(at0, slope) : new Line(0, leastSlope);
  }

  private double bufferMs(ShardScope scope, Direction direction, double elements) {
    double least = Double.POSITIVE_INFINITY;
    for (StepCollective of : candidates(scope, direction)) {
      least = Math.min(least, of.bufferMs(evaluator, of.group(0), elements));
    }
    return share * least;
  }
}
