package io.shardtide.search.bound;

import io.shardtide.cost.AddedMs;
import io.shardtide.cost.LaunchGroups;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The parts that a device computes together, in one launch: of a model without launch groups, all.
 * The least that they take follows from {@link HeadHull}, one for each width that the widest part
 * of a device may have, and from what a launch adds.
 */
final class LaunchHull {
  /** How often weights follow from what parts take at least. */
  private static final int ROUNDS = 2;

  /** Half the width of the interval of device weights from which weights follow. */
  private static final double NARROW = 0.03;

  /** No part weighs less than this share of what it would at the mean ratio. */
  private static final double LEAST_RATIO = 1e-3;

  private static final double LEAST_WEIGHT = 1e-9;

  /** How much else, as a share of a part, a device may have that is nearly the part alone. */
  private static final double SHELL = 0.25;

  private final HeadNet net;
  final Launch launch;
  private final int at;
  final int[] parts;
  private final int[] owners;
  private final double[][] towers;
  private final double[] widths;
  private final double[] lookups;
  private final double[] addedMs;
  final double[] weights;
  private final List<WidthHull> hulls = new ArrayList<>();
  private double[] ofHead = {};
  ComputeCurve curve;

  /** How many parts were bounded so far, those of each bound counted. */
  int bounds;

  /**
   * What a launch takes beside its parts.
   *
   * @param areCopies whether its parts are copies with a launch of their own
   * @param ms milliseconds
   * @param msPerRoot milliseconds for the square root of a million lookups
   */
  record Launch(boolean areCopies, double ms, double msPerRoot) {}

  /** The parts of devices whose widest part is of some width. */
  private static final class WidthHull {
    final double width;
    final int[] which;
    final HeadHull hull;

    WidthHull(HeadNet net, LaunchHull all, double width) {
      this.width = width;
      which = IntStream.range(0, all.parts.length).filter(i -> all.widths[i] <= width).toArray();
      hull =
          new HeadHull(
              net,
              Arrays.stream(which).mapToObj(i -> all.towers[i]).toArray(double[][]::new),
              Arrays.stream(which).map(i -> all.owners[i]).toArray(),
              width);
    }
  }

  /**
   * @param at where the launch begins in the sum of a device
   * @param parts numbers of the parts, ascending
   * @param ofAll what each part, of this launch or not, adds to the sum of its device
   * @param ownersOfAll what each is a part of
   */
  LaunchHull(
      HeadNet net, Launch launch, int at, int[] parts, List<double[]> ofAll, int[] ownersOfAll) {
    this.net = net;
    this.launch = launch;
    this.at = at;
    this.parts = parts;
    owners = Arrays.stream(parts).map(p -> ownersOfAll[p]).toArray();
    towers = new double[parts.length][];
    widths = new double[parts.length];
    lookups = new double[parts.length];
    addedMs = new double[parts.length];
    weights = new double[parts.length];
    int numbers = at + net.sums;
    for (int i = 0; i < parts.length; i++) {
      double[] tower = ofAll.get(parts[i]);
      towers[i] = Arrays.copyOfRange(tower, at, numbers);
      addedMs[i] = AddedMs.ms(tower, at + net.added);
      if (net.readsWidest) {
        widths[i] = LaunchGroups.widest(tower, numbers);
        lookups[i] = Math.max(0, tower[numbers + 1]);
      }
    }
    for (double width : Arrays.stream(widths).distinct().sorted().toArray()) {
      hulls.add(new WidthHull(net, this, width));
    }
  }

  /** Sets the weights of parts to what they take at the factors of a device's sum of towers. */
  void weighByFactors(double[] sum) {
    ofHead = Arrays.copyOfRange(sum, at, at + net.sums);
    double[] factors = net.factors(ofHead, Arrays.stream(widths).max().orElse(0));
    for (int i = 0; i < parts.length; i++) {
      double ms = addedMs[i];
      for (int k = 0; k < net.components; k++) {
        ms += factors[k] * towers[i][k];
      }
      weights[i] = Math.max(LEAST_WEIGHT, ms);
    }
  }

  /**
   * Sets the weights of parts to what they take at least, and the curve.
   *
   * @param devices for each part, how many devices have it in a plan of the load that matters, as a
   *     share of all devices
   */
  void weighByLeastCost(double[] devices, ComputeCurve.Resolution resolution) {
    WidthHull widest = hulls.get(hulls.size() - 1);
    for (int round = 0; round < ROUNDS; round++) {
      double mean = meanWeight(devices);
      weigh(widest, mean);
      double[] ms = msPerWeight(widest, mean * (1 - NARROW), mean * (1 + NARROW));
      double all = 0;
      double sum = 0;
      for (int i = 0; i < ms.length; i++) {
        all += weights[i];
        sum += ms[i] * weights[i];
      }
      if (!(sum < Double.POSITIVE_INFINITY)) {
        break;
      }
      for (int i = 0; i < ms.length; i++) {
        weights[i] = Math.max(LEAST_WEIGHT, weights[i] * Math.max(LEAST_RATIO * sum / all, ms[i]));
      }
    }
    double mean = meanWeight(devices);
    hulls.forEach(hull -> weigh(hull, mean));
    double least = Double.POSITIVE_INFINITY;
    double most = 0;
    for (int i = 0; i < weights.length; ) {
      double largest = 0;
      int owner = owners[i];
      for (; i < weights.length && owners[i] == owner; i++) {
        least = Math.min(least, weights[i]);
        largest = Math.max(largest, weights[i]);
      }
      most += largest;
    }
    curve =
        new ComputeCurve(
            least,
            most,
            mean,
            resolution,
            (from, to) ->
                hulls.stream()
                    .mapToDouble(hull -> hull.hull.min(msPerWeight(hull, from, to)))
                    .min()
                    .orElse(0));
  }

  private double meanWeight(double[] devices) {
    double weight = 0;
    for (int i = 0; i < parts.length; i++) {
      weight += weights[i] * devices[parts[i]];
    }
    return Math.max(LEAST_WEIGHT, weight);
  }

  private void weigh(WidthHull hull, double mean) {
    hull.hull.weigh(Arrays.stream(hull.which).mapToDouble(i -> weights[i]).toArray(), ofHead, mean);
  }

  /** Returns milliseconds for each unit of weight, with all that parts and a launch add to them. */
  private double[] msPerWeight(WidthHull hull, double from, double to) {
    bounds += hull.which.length;
    double[] ms = hull.hull.msPerWeight(from, to);
    double ofLaunch = launch.areCopies() ? 0 : launch.ms() / to;
    for (int i = 0; i < ms.length; i++) {
      int part = hull.which[i];
      // The root is concave: at least the mean of the parts' own.
      ms[i] +=
          ofLaunch
              + launch.msPerRoot() * Math.sqrt(lookups[part] / weights[part] / to)
              + addedMs[part] / weights[part];
    }
    return ms;
  }

  /** Returns the least milliseconds of a device with a part: {@code i} of this launch. */
  double leastMs(int i) {
    return curve.leastMs(weights[i]);
  }

  /** Returns the same, closer: of devices with little else, or with at least so much else. */
  double leastMsWith(int i) {
    double more = SHELL * weights[i];
    double least = curve.leastMs(weights[i] + more);
    for (WidthHull hull : hulls) {
      if (hull.width < widths[i]) {
        continue;
      }
      double[][] near = new double[hull.which.length + 1][];
      near[0] = towers[i];
      for (int j = 1; j < near.length; j++) {
        int other = hull.which[j - 1];
        double share = more / weights[other];
        double[] sum = towers[i].clone();
        for (int k = 0; k < sum.length; k++) {
          sum[k] += share * towers[other][k];
        }
        near[j] = sum;
      }
      double[] ones = new double[near.length];
      Arrays.fill(ones, 1);
      HeadHull shell =
          new HeadHull(net, near, IntStream.range(0, near.length).toArray(), hull.width);
      shell.weigh(ones, towers[i], 1);
      bounds += near.length;
      double[] nearMs = shell.msPerWeight(1, 1);
      for (int j = 1; j < near.length; j++) {
        int other = hull.which[j - 1];
        nearMs[j] += addedMs[other] * more / weights[other];
      }
      double ms =
          shell.min(nearMs) + addedMs[i] + launch.ms() + launch.msPerRoot() * Math.sqrt(lookups[i]);
      least = Math.min(least, ms);
    }
    return least;
  }
}
