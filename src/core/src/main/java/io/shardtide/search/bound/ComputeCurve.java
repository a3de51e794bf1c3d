package io.shardtide.search.bound;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleBinaryOperator;

/**
 * What the computation of a device of some weight takes at least, in milliseconds: for each
 * interval of weights the least milliseconds for a unit of weight.
 */
final class ComputeCurve {
  /** Intervals are narrow from this to this multiple of the mean weight, then medium, then wide. */
  private static final double[] ENDS = {0.75, 1.6, 5};

  private final double[] from;
  private final double[] ratios;

  /**
   * How many intervals there are.
   *
   * @param narrow ratio of the ends of a narrow interval
   * @param medium of a medium one
   * @param wide of a wide one
   */
  record Resolution(double narrow, double medium, double wide) {
    static final Resolution FINE = new Resolution(1.1, 1.3, 2);
    static final Resolution COARSE = new Resolution(1.4, 2, 5);
  }

  /**
   * @param least weight of the lightest part
   * @param most weight of a device with all that there is
   * @param mean mean weight of a device
   */
  ComputeCurve(
      double least, double most, double mean, Resolution resolution, DoubleBinaryOperator ratio) {
    List<double[]> intervals = new ArrayList<>();
    double end = Math.max(most, mean) * 1.01;
    double at = ENDS[0] * mean;
    while (at < end) {
      double next =
          at
              * (at < ENDS[1] * mean
                  ? resolution.narrow()
                  : at < ENDS[2] * mean ? resolution.medium() : resolution.wide());
      intervals.add(new double[] {at, Math.max(0, ratio.applyAsDouble(at, next))});
      at = next;
    }
    at = ENDS[0] * mean;
    double start = Math.min(least, at);
    while (at > start) {
      double next = Math.max(start, at / resolution.wide());
      intervals.add(0, new double[] {next, Math.max(0, ratio.applyAsDouble(next, at))});
      at = next;
    }
    from = intervals.stream().mapToDouble(interval -> interval[0]).toArray();
    ratios = intervals.stream().mapToDouble(interval -> interval[1]).toArray();
  }

  /** Adds, for each interval, the least milliseconds of a device and of a unit of its weight. */
  void addThresholds(List<double[]> all) {
    for (int i = 0; i < from.length; i++) {
      all.add(new double[] {i == 0 ? 0 : from[i] * ratios[i], ratios[i]});
    }
  }

  /** Returns the least milliseconds for a unit of weight of any device. */
  double leastRatio() {
    return Arrays.stream(ratios).min().orElseThrow();
  }

  /** Returns the least milliseconds of a device with at least so much weight. */
  double leastMs(double weight) {
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < from.length; i++) {
      double end = i + 1 < from.length ? from[i + 1] : Double.POSITIVE_INFINITY;
      if (end > weight) {
        least = Math.min(least, ratios[i] * Math.max(from[i], weight));
      }
    }
    return least;
  }
}
