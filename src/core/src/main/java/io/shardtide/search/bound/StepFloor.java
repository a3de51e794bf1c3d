package io.shardtide.search.bound;

import io.shardtide.search.bound.CommunicationFloor.AllToAll;
import java.util.Arrays;

/**
 * Whether a step of some length is possible for plans that need the collectives of certain scopes.
 *
 * <p>Such a plan has a largest all-to-all load e, a mean weight w of its devices, and takes o
 * milliseconds for all collectives other than the part of the all-to-alls that depends on e alone.
 * By Lagrangian duality, w is at least {@code line - price of e * e - price of o * o} for each pair
 * of prices. The step takes at least {@code base(e) + o + w * ratio}, where the ratio is the least
 * milliseconds for a unit of weight on devices whose computation fits into the step.
 */
final class StepFloor {
  /** Prices of what other collectives take: weight for a millisecond. */
  static final double[] OTHER_PRICES = {0, 0.5, 1, 2};

  private final ComputeFloor compute;
  private final AllToAll[] allToAlls;

  /** The largest load with which an all-to-all of the same place takes as long. */
  private final double[] loads;

  /** Least weight without other collectives, by all-to-all and price of others. */
  private final double[][] least;

  final double constantMs;
  private final double nodeShare;
  private final double nodeMs;

  /** Changes of one line, if any. */
  private int changedPrice = -1;

  private double changedLine;
  private double changedLoadPrice;

  /**
   * @param compute the computation
   * @param allToAlls the all-to-alls that there may be, by rising load; one of nothing if there are
   *     none
   * @param loads upper ends of their loads
   * @param constantMs the least that other collectives take
   * @param nodeShare share of other collectives' milliseconds that may be backward collectives of
   *     shards split over nodes, which devices of other nodes do not wait for
   * @param nodeMs milliseconds of it that do not depend on the load
   */
  StepFloor(
      ComputeFloor compute,
      AllToAll[] allToAlls,
      double[] loads,
      double constantMs,
      double nodeShare,
      double nodeMs) {
    this.compute = compute;
    this.allToAlls = allToAlls;
    this.loads = loads;
    this.constantMs = constantMs;
    this.nodeShare = nodeShare;
    this.nodeMs = nodeMs;
    least = new double[loads.length][OTHER_PRICES.length];
    end = loads.length;
    for (double[] of : least) {
      Arrays.fill(of, Double.NEGATIVE_INFINITY);
    }
  }

  /** Adds what is known with some prices. */
  void add(double line, double loadPrice, int otherPrice) {
    for (int i = 0; i < loads.length; i++) {
      least[i][otherPrice] = Math.max(least[i][otherPrice], line - loadPrice * loads[i]);
    }
  }

  /** Returns the least time that may be possible, if it is below another one. */
  double leastMs(double most, double precision) {
    if (!isPossible(most)) {
      return most;
    }
    double low = 0;
    double high = most;
    while (high - low > precision * most) {
      double middle = (low + high) / 2;
      if (isPossible(middle)) {
        high = middle;
      } else {
        low = middle;
      }
    }
    return low;
  }

  boolean isPossible(double ms) {
    // Times that are asked for are close to one another: what was possible may be so again.
    if (isPossible(ms, latest)) {
      return true;
    }
    for (int i = first; i < end; i++) {
      if (i != latest && isPossible(ms, i)) {
        latest = i;
        return true;
      }
    }
    return false;
  }

  private int latest;
  private int first;
  private int end;

  /**
   * Leaves out loads with which no step of some length is possible; returns whether one is left.
   */
  boolean limit(double ms) {
    int from = -1;
    int to = 0;
    for (int i = 0; i < loads.length && allToAlls[i].baseMs() <= ms; i++) {
      if (isPossible(ms, i)) {
        from = from < 0 ? i : from;
        to = i + 1;
      }
    }
    first = Math.max(0, from);
    end = to;
    latest = Math.min(first, loads.length - 1);
    return from >= 0;
  }

  /**
   * Returns by how much a line may rise, at most, before a step is impossible; infinite if it may
   * rise by more than the step.
   */
  double slack(double ms, double line, double loadPrice, int otherPrice) {
    changedPrice = otherPrice;
    changedLoadPrice = loadPrice;
    double low = 0;
    double high = ms;
    changedLine = line + high;
    if (isPossible(ms)) {
      changedPrice = -1;
      return Double.POSITIVE_INFINITY;
    }
    for (int i = 0; i < SLACK_STEPS; i++) {
      double middle = (low + high) / 2;
      changedLine = line + middle;
      if (isPossible(ms)) {
        low = middle;
      } else {
        high = middle;
      }
    }
    changedPrice = -1;
    return high;
  }

  private static final int SLACK_STEPS = 7;

  /** Returns the longest computation of a device in a step of some length. */
  double mostComputeMs(double ms) {
    double most = 0;
    for (int i = first; i < end; i++) {
      if (isPossible(ms, i)) {
        double rest = ms - allToAlls[i].baseMs();
        most = Math.max(most, left(leastOther(rest, i), rest, i));
      }
    }
    return most;
  }

  private double leastWeight(int i, int price) {
    return price == changedPrice
        ? Math.max(least[i][price], changedLine - changedLoadPrice * loads[i])
        : least[i][price];
  }

  private boolean isPossible(double ms, int i) {
    double rest = ms - allToAlls[i].baseMs();
    if (rest < constantMs) {
      return false;
    }
    // Convex in what other collectives take: the least is at the first, or where lines meet.
    if (isPossible(constantMs, rest, i)) {
      return true;
    }
    for (int a = 0; a < OTHER_PRICES.length; a++) {
      double ofA = leastWeight(i, a);
      for (int b = a + 1; b < OTHER_PRICES.length; b++) {
        double other = (leastWeight(i, b) - ofA) / (OTHER_PRICES[b] - OTHER_PRICES[a]);
        if (other > constantMs && other <= rest && isPossible(other, rest, i)) {
          return true;
        }
      }
      double other = ofA / OTHER_PRICES[a];
      if (a > 0 && other > constantMs && other <= rest && isPossible(other, rest, i)) {
        return true;
      }
    }
    return false;
  }

  private boolean isPossible(double other, double rest, int i) {
    double weight = 0;
    for (int a = 0; a < OTHER_PRICES.length; a++) {
      weight = Math.max(weight, leastWeight(i, a) - OTHER_PRICES[a] * other);
    }
    // What is not a number is possible.
    return !(other + compute.leastRatio(left(other, rest, i)) * weight > rest);
  }

  /** Returns what is left on a device for the computation. */
  private double left(double other, double rest, int i) {
    double common = (1 - nodeShare) * other + nodeShare * constantMs - nodeMs;
    return rest - Math.min(other, common) + allToAlls[i].ownMs();
  }

  /** Returns the least that other collectives take where a step is possible. */
  private double leastOther(double rest, int i) {
    if (isPossible(constantMs, rest, i)) {
      return constantMs;
    }
    // Less of them leaves more time for the computation, whose ratio is no higher then.
    double ratio = compute.leastRatio(left(constantMs, rest, i));
    double least = constantMs;
    for (int a = 0; a < OTHER_PRICES.length; a++) {
      double slope = 1 - ratio * OTHER_PRICES[a];
      if (slope < 0) {
        least = Math.max(least, (rest - ratio * leastWeight(i, a)) / slope);
      }
    }
    return Math.min(least, rest);
  }
}
