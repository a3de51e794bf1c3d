package io.shardtide.search.bound;

import io.shardtide.cost.AddedMs;
import io.shardtide.cost.LaunchCosts;
import io.shardtide.cost.LaunchGroups;
import io.shardtide.cost.ModelBundle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The least that the computation of devices takes, by the weights of their parts. Weights are about
 * the milliseconds that a part adds to a device with a mean load; what a device takes at least is
 * its weight times a ratio near 1.
 *
 * <p>Copies that a model computes in a launch of their own are apart: all devices have the same, so
 * that they take the same time everywhere.
 */
final class ComputeFloor {
  private final int segmentSize;
  private final List<LaunchHull> launches = new ArrayList<>();

  /** The weight of each part. */
  final double[] weights;

  /** The milliseconds that a copy adds at least, where copies are computed apart. */
  final double[] copyMs;

  private double copyLaunchMs = Double.POSITIVE_INFINITY;

  /** Ascending milliseconds of a device, and the least ratio of devices that take so long. */
  private double[] thresholds = {};

  private double[] ratios = {};

  private ComputeFloor(int segmentSize, int parts) {
    this.segmentSize = segmentSize;
    weights = new double[parts];
    copyMs = new double[parts];
  }

  /**
   * Prepares for the parts of a plan.
   *
   * @param towers what each part adds to the sum of its device
   * @param owners what each is a part of
   * @param isThere which parts a plan may have
   */
  ComputeFloor(ModelBundle bundle, List<double[]> towers, int[] owners, boolean[] isThere) {
    this(bundle.segmentSize(), towers.size());
    HeadNet net = new HeadNet(bundle);
    for (int group = 0; group < bundle.sumSize() / segmentSize; group++) {
      int at = group * segmentSize;
      int[] parts =
          IntStream.range(0, towers.size())
              .filter(p -> isThere[p])
              .filter(
                  p ->
                      bundle.launches().isEmpty()
                          || LaunchGroups.isLaunched(towers.get(p), at + net.sums))
              .toArray();
      if (parts.length > 0) {
        LaunchHull.Launch launch = launch(group, bundle.launches());
        launches.add(new LaunchHull(net, launch, at, parts, towers, owners));
      }
    }
  }

  /**
   * Returns what parts add at least to any device: their latency components, each times the least
   * factor that the head has for it, and what is added beside them.
   */
  static ComputeFloor ofAnyDevice(
      double[] leastFactors, ModelBundle bundle, List<double[]> towers) {
    ComputeFloor floor = new ComputeFloor(bundle.segmentSize(), towers.size());
    for (int p = 0; p < towers.size(); p++) {
      double[] tower = towers.get(p);
      double ms = 0;
      for (int at = 0; at < bundle.sumSize(); at += bundle.segmentSize()) {
        for (int k = 0; k < leastFactors.length; k++) {
          ms += leastFactors[k] * tower[at + k];
        }
        ms += AddedMs.ms(tower, at + bundle.towerSize());
      }
      floor.weights[p] = ms;
    }
    floor.thresholds = new double[1];
    floor.ratios = new double[] {1};
    return floor;
  }

  private static LaunchHull.Launch launch(int group, Optional<LaunchCosts> costs) {
    if (costs.isEmpty()) {
      return new LaunchHull.Launch(false, 0, 0);
    }
    double[] coefficients = new double[LaunchCosts.TERMS.size()];
    Arrays.setAll(
        coefficients, i -> costs.get().forwardMs().get(i) + costs.get().backwardMs().get(i));
    double ms = LaunchGroups.ms(coefficients, group, new double[] {1, 0}, 0);
    double withOne = LaunchGroups.ms(coefficients, group, new double[] {1, 1}, 0);
    return new LaunchHull.Launch(group >= LaunchGroups.of(true, Float.BYTES), ms, withOne - ms);
  }

  /** Sets the weights of parts to what they take at the factors of a mean sum of towers. */
  void weighByFactors(double[] mean) {
    launches.forEach(of -> of.weighByFactors(mean));
    collect();
  }

  /**
   * Sets the weights of parts to what they take at least, and how that changes with the load.
   *
   * @param devices for each part, how many devices have it in a plan of the load that matters, as a
   *     share of all devices
   */
  void weighByLeastCost(double[] devices, ComputeCurve.Resolution resolution) {
    copyLaunchMs = Double.POSITIVE_INFINITY;
    List<double[]> all = new ArrayList<>();
    for (LaunchHull of : launches) {
      of.weighByLeastCost(devices, resolution);
      if (of.launch.areCopies()) {
        copyLaunchMs = Math.min(copyLaunchMs, of.launch.ms());
      } else {
        of.curve.addThresholds(all);
      }
    }
    all.sort(
        Comparator.comparingDouble((double[] pair) -> pair[0])
            .thenComparingDouble(pair -> pair[1]));
    thresholds = new double[all.size()];
    ratios = new double[all.size()];
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < thresholds.length; i++) {
      least = Math.min(least, all.get(i)[1]);
      thresholds[i] = all.get(i)[0];
      ratios[i] = least;
    }
    collect();
  }

  private void collect() {
    Arrays.fill(weights, 0);
    Arrays.fill(copyMs, 0);
    for (LaunchHull of : launches) {
      boolean areCopies = of.launch.areCopies();
      double ratio = areCopies && of.curve != null ? of.curve.leastRatio() : 1;
      double[] to = areCopies ? copyMs : weights;
      for (int i = 0; i < of.parts.length; i++) {
        to[of.parts[i]] += ratio * of.weights[i];
      }
    }
  }

  /** Returns what a launch of copies takes beside the copies, where they are computed apart. */
  double copyLaunchMs() {
    return copyLaunchMs == Double.POSITIVE_INFINITY ? 0 : copyLaunchMs;
  }

  /** Returns how many parts were bounded so far, those of each bound counted. */
  int bounds() {
    return launches.stream().mapToInt(of -> of.bounds).sum();
  }

  /** Returns the least milliseconds of a unit of weight, on devices that take at most so long. */
  double leastRatio(double mostMs) {
    int low = 0;
    int high = thresholds.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (thresholds[middle] <= mostMs) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return ratios.length == 0 ? 0 : ratios[Math.max(0, low - 1)];
  }

  /** Returns the least milliseconds of a device with a part, for each part; 0 of those apart. */
  double[] leastMs() {
    double[] least = new double[weights.length];
    for (LaunchHull of : launches) {
      for (int i = 0; !of.launch.areCopies() && i < of.parts.length; i++) {
        int p = of.parts[i];
        least[p] = Math.max(least[p], of.leastMs(i));
      }
    }
    return least;
  }

  /** Returns the least milliseconds of a device with a part, closer but slower. */
  double leastMsWith(int part) {
    double least = 0;
    for (LaunchHull of : launches) {
      int at = of.launch.areCopies() ? -1 : Arrays.binarySearch(of.parts, part);
      if (at >= 0) {
        least = Math.max(least, of.leastMsWith(at));
      }
    }
    return least;
  }
}
