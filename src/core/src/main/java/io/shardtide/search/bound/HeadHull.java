package io.shardtide.search.bound;

import io.shardtide.cost.HeadInputs;
import java.util.Arrays;

/**
 * A lower bound of what the head makes of any parts that a device may have.
 *
 * <p>Each part has a weight, above 0, and the weight of a device is the sum of its parts'. On a
 * device of weight w, part i has a share y(i) of it; shares sum to 1, and S, the sum of towers, is
 * w times the sum of y(i) s(i), with s(i) the part's tower divided by its weight. For all w of an
 * interval, what a correction of the head is at least is bounded by a function that is affine in
 * the shares: one value for each part. Its least value over all shares that there may be is found
 * without a search ({@link #min}), and holds for real shares as for any others.
 *
 * <ul>
 *   <li>Shares of components are fractions N/D of affine functions. A fraction is N/D0 + (N/D) (1 -
 *       D/D0), and N/D lies between the least and the largest of any part.
 *   <li>Contexts and totals, x/(x+q), are concave: at least the mean of the parts' own (Jensen), at
 *       most any tangent.
 *   <li>A hidden unit whose sign is not known is at least 0 and at least its argument, at most the
 *       chord.
 *   <li>The factor of a component is convex in its correction: at least its tangent.
 *   <li>The product of a sum and its factor is at least what remains of it without the product of
 *       what both exceed their least values by (McCormick, 1976).
 * </ul>
 *
 * <p>Nothing is assumed of the head's weights. CostEvaluator computes in single precision; {@link
 * #ROUNDING} covers the difference. Not thread-safe.
 */
final class HeadHull {
  /** Tangents of contexts are tried at so many times the mean. */
  private static final double[] TANGENTS = {1, 4, 1e9};

  /** A correction in double precision differs from the head's by less, of 1 and its size. */
  private static final double ROUNDING = 2e-6;

  /** Prices that are tried for the least value of limited shares. */
  private static final int PRICES = 4;

  /** Devices are not heavier than all parts together. */
  private static final double LEAST_SHARES = 1 - 1e-9;

  private final HeadNet net;
  private final int half;
  private final double[][] towers;
  private final int[] owners;
  private final double widest;
  private final int parts;

  /** s of each sum, by part; then the totals of forward and backward components. */
  private final double[][] scaled;

  /** Reciprocals of both totals, 0 of none. */
  private final double[][] inverses;

  private double[] weights = {};
  private double[] mean = {};
  private double meanWeight;

  /** Largest share of each part on a device of the interval's least weight. */
  private final double[] largestShare;

  private boolean isShareLimited;

  /** A mixture near which bounds are close, and the range of each sum. */
  private final double[] center;

  private final double[] least;
  private final double[] most;
  private final double[] centerInputs;

  /** The parts' own contexts and totals at the interval's least weight, by input. */
  private final double[][] atLeast;

  private final double[][] tangentAt0;
  private final double[][] tangentSlope;

  /** Shares are divided by a total and a little more: by how much less they are at most. */
  private double missing;

  /** Of the latest function: its value for each part. */
  private final double[] values;

  private final double[] base;
  private final double[] scratch;

  /**
   * @param net the head
   * @param towers the sums that the head reads, of each part
   * @param owners a number of what each part is a part of, in ascending order: a device has no two
   *     parts of one owner
   * @param widest the width class of the widest part of a device
   */
  HeadHull(HeadNet net, double[][] towers, int[] owners, double widest) {
    this.net = net;
    this.towers = towers;
    this.owners = owners;
    this.widest = widest;
    parts = towers.length;
    half = net.components / 2;
    scaled = new double[net.sums + 2][parts];
    inverses = new double[2][parts];
    largestShare = new double[parts];
    center = new double[net.sums + 2];
    least = new double[net.sums + 2];
    most = new double[net.sums + 2];
    centerInputs = new double[net.inputs];
    atLeast = new double[net.inputs][];
    for (int i = net.components; i < net.firstAfterTotals(); i++) {
      atLeast[i] = new double[parts];
    }
    tangentAt0 = new double[net.inputs][TANGENTS.length];
    tangentSlope = new double[net.inputs][TANGENTS.length];
    values = new double[parts];
    base = new double[parts];
    scratch = new double[parts];
  }

  /**
   * Sets the weights.
   *
   * @param ofParts weight of each part, above 0
   * @param meanSum sum of towers of a device near which bounds are to be close
   * @param meanWeightOfDevice its weight
   */
  void weigh(double[] ofParts, double[] meanSum, double meanWeightOfDevice) {
    weights = ofParts;
    mean = meanSum;
    meanWeight = meanWeightOfDevice;
    for (int i = 0; i < parts; i++) {
      double[] totals = new double[2];
      for (int k = 0; k < net.sums; k++) {
        double s = towers[i][k] / weights[i];
        scaled[k][i] = s;
        if (k < net.components) {
          totals[k / half] += s;
        }
      }
      for (int direction = 0; direction < 2; direction++) {
        scaled[net.sums + direction][i] = totals[direction];
        inverses[direction][i] = totals[direction] > 0 ? 1 / totals[direction] : 0;
      }
    }
  }

  /**
   * Returns milliseconds for each unit of weight, by part: a device whose weight is between two
   * takes at least the sum over its parts of their weight times this. Infinite if no device is so
   * heavy.
   */
  double[] msPerWeight(double from, double to) {
    double[] ms = new double[parts];
    if (!setLargestShares(from)) {
      Arrays.fill(ms, Double.POSITIVE_INFINITY);
      return ms;
    }
    setRanges();
    setInputs(from, to);
    double[] low = new double[net.hidden];
    double[] high = new double[net.hidden];
    double[] middle = new double[net.hidden];
    setHidden(low, high, middle);
    double[] input = new double[net.inputs];
    for (int k = 0; k < net.components; k++) {
      double leastCorrection =
          bound(input, correction(k, low, high, middle, input), Double.POSITIVE_INFINITY);
      double factor = HeadNet.factor(leastCorrection - ROUNDING * (1 + Math.abs(leastCorrection)));
      double rise = least[k] * HeadNet.slope(leastCorrection);
      double[] s = scaled[k];
      for (int i = 0; i < parts; i++) {
        ms[i] += s[i] * factor + rise * (values[i] - leastCorrection);
      }
    }
    return ms;
  }

  /** Sets the range of each hidden unit's argument, and its value at the center. */
  private void setHidden(double[] low, double[] high, double[] middle) {
    double[] negated = new double[net.inputs];
    for (int j = 0; j < net.hidden; j++) {
      double[] w = net.hiddenWeights[j];
      double at = net.hiddenBiases[j];
      for (int i = 0; i < net.inputs; i++) {
        negated[i] = -w[i];
        at += w[i] * centerInputs[i];
      }
      high[j] = -bound(negated, -net.hiddenBiases[j], 0);
      low[j] = high[j] <= 0 ? high[j] : bound(w, net.hiddenBiases[j], 0);
      middle[j] = at;
    }
  }

  /** Sets the weights of a lower bound of a correction that is affine in the inputs. */
  private double correction(
      int k, double[] low, double[] high, double[] middle, double[] weightsOfInputs) {
    Arrays.fill(weightsOfInputs, 0);
    double constant = net.outputBiases[k];
    for (int j = 0; j < net.hidden; j++) {
      if (high[j] <= 0) {
        continue;
      }
      double w = net.outputWeights[k][j];
      double slope = 1;
      double above = 0;
      if (low[j] < 0 && w > 0) {
        slope = middle[j] > 0 ? 1 : 0;
      } else if (low[j] < 0) {
        slope = high[j] / (high[j] - low[j]);
        above = -slope * low[j];
      }
      for (int i = 0; i < net.inputs; i++) {
        weightsOfInputs[i] += w * slope * net.hiddenWeights[j][i];
      }
      constant += w * (slope * net.hiddenBiases[j] + above);
    }
    return constant;
  }

  /** Sets the largest shares; returns whether they are enough for a device. */
  private boolean setLargestShares(double from) {
    isShareLimited = false;
    double sum = 0;
    int i = 0;
    while (i < parts) {
      int owner = owners[i];
      double largest = 0;
      for (; i < parts && owners[i] == owner; i++) {
        largestShare[i] = Math.min(1, weights[i] / from);
        isShareLimited |= largestShare[i] < 1;
        largest = Math.max(largest, largestShare[i]);
      }
      sum += largest;
    }
    return sum >= LEAST_SHARES;
  }

  private void setRanges() {
    double[] totals = new double[2];
    for (int k = 0; k < net.sums; k++) {
      double[] of = scaled[k];
      least[k] = k < net.components ? min(of) : plainMin(of);
      double high = 0;
      for (double s : of) {
        high = Math.max(high, s);
      }
      center[k] = Math.min(high, Math.max(least[k], mean[k] / meanWeight));
      if (k < net.components) {
        totals[k / half] += center[k];
      }
    }
    for (int direction = 0; direction < 2; direction++) {
      int k = net.sums + direction;
      least[k] = min(scaled[k]);
      for (int i = 0; i < parts; i++) {
        scratch[i] = -scaled[k][i];
      }
      most[k] = -min(scratch);
      center[k] = totals[direction];
    }
  }

  private void setInputs(double from, double to) {
    double leastTotal = from * Math.min(least[net.sums], least[net.sums + 1]);
    missing = HeadInputs.LEAST_MS / (leastTotal + HeadInputs.LEAST_MS);
    for (int k = 0; k < net.components; k++) {
      double total = center[net.sums + k / half];
      centerInputs[k] = total > 0 ? center[k] / total : 0;
    }
    for (int c = net.components; c < net.sums; c++) {
      setConcave(c, c, 1, from, to);
    }
    for (int input = net.sums; input < net.firstAfterTotals(); input++) {
      int total = (input - net.sums) / net.scalesMs.length;
      setConcave(
          input,
          net.sums + total,
          net.scalesMs[(input - net.sums) % net.scalesMs.length],
          from,
          to);
    }
    if (net.readsWidest) {
      centerInputs[net.inputs - 1] = widest;
    }
  }

  private void setConcave(int input, int sum, double scale, double from, double to) {
    double[] s = scaled[sum];
    double[] own = atLeast[input];
    for (int i = 0; i < parts; i++) {
      double x = from * s[i];
      own[i] = x / (x + scale);
    }
    for (int t = 0; t < TANGENTS.length; t++) {
      double x = to * center[sum] * (input < net.sums ? TANGENTS[t] : 1);
      double slope = scale / ((x + scale) * (x + scale));
      tangentSlope[input][t] = slope * to;
      tangentAt0[input][t] = x / (x + scale) - slope * x;
    }
    double x = (from + to) / 2 * center[sum];
    centerInputs[input] = x / (x + scale);
  }

  /**
   * Bounds an affine function of the inputs by a function of the shares, {@link #values}, and
   * returns its least, or less.
   *
   * @param enough a least value that need not be any higher
   */
  private double bound(double[] ofInputs, double constant, double enough) {
    Arrays.fill(base, 0);
    double start = constant + addShares(ofInputs, 0) + addShares(ofInputs, 1);
    if (net.readsWidest) {
      start += ofInputs[net.inputs - 1] * widest;
    }
    for (int input = net.components; input < net.firstAfterTotals(); input++) {
      double w = ofInputs[input];
      if (w > 0) {
        add(base, w, atLeast[input]);
      } else if (input >= net.sums) {
        start += w * tangentAt0[input][0];
        int total = net.sums + (input - net.sums) / net.scalesMs.length;
        add(base, w * tangentSlope[input][0], scaled[total]);
      }
    }
    int best = 0;
    double highest = Double.NEGATIVE_INFINITY;
    for (int t = 0; t < TANGENTS.length; t++) {
      double lowest = setValues(ofInputs, start, t);
      if (lowest > highest) {
        highest = lowest;
        best = t;
      }
    }
    if (best < TANGENTS.length - 1) {
      setValues(ofInputs, start, best);
    }
    return highest >= enough ? highest : min(values);
  }

  private static void add(double[] sum, double factor, double[] of) {
    for (int i = 0; i < sum.length; i++) {
      sum[i] += factor * of[i];
    }
  }

  /** Sets the values with a tangent of contexts; returns the least of any part. */
  private double setValues(double[] ofInputs, double start, int tangent) {
    System.arraycopy(base, 0, values, 0, parts);
    double from = start;
    for (int c = net.components; c < net.sums; c++) {
      double w = ofInputs[c];
      if (w < 0) {
        from += w * tangentAt0[c][tangent];
        add(values, w * tangentSlope[c][tangent], scaled[c]);
      }
    }
    double lowest = Double.POSITIVE_INFINITY;
    for (int i = 0; i < parts; i++) {
      double value = values[i] + from;
      values[i] = value;
      if (value < lowest) {
        lowest = value;
      }
    }
    return lowest;
  }

  /** Adds the shares of one direction to {@link #base}; returns what to add to all parts. */
  private double addShares(double[] ofInputs, int direction) {
    double[] totals = scaled[net.sums + direction];
    double total = center[net.sums + direction];
    int first = direction * half;
    if (!(total > 0)) {
      double sum = 0;
      for (int k = first; k < first + half; k++) {
        sum += Math.min(0, ofInputs[k]);
      }
      return sum;
    }
    double at = 0;
    for (int k = first; k < first + half; k++) {
      at += ofInputs[k] * centerInputs[k];
    }
    Arrays.fill(scratch, 0);
    for (int k = first; k < first + half; k++) {
      add(scratch, ofInputs[k], scaled[k]);
    }
    double[] inverse = inverses[direction];
    double share = 1 / total;
    double low = Double.POSITIVE_INFINITY;
    double high = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < parts; i++) {
      double numerator = scratch[i] - at * totals[i];
      base[i] += numerator * share;
      double ratio = numerator * inverse[i];
      if (ratio < low) {
        low = ratio;
      }
      if (ratio > high) {
        high = ratio;
      }
    }
    double b0 = 1 - most[net.sums + direction] / total;
    double b1 = 1 - least[net.sums + direction] / total;
    double leastProduct = Math.min(Math.min(low * b0, low * b1), Math.min(high * b0, high * b1));
    return at + leastProduct - missing * Math.max(0, at + high);
  }

  private static double plainMin(double[] of) {
    double lowest = Double.POSITIVE_INFINITY;
    for (double value : of) {
      if (value < lowest) {
        lowest = value;
      }
    }
    return lowest;
  }

  /** Returns a lower bound of a function over all shares, given its value for each part. */
  double min(double[] of) {
    double lowest = plainMin(of);
    if (!isShareLimited) {
      return lowest;
    }
    double highest = Double.NEGATIVE_INFINITY;
    for (double value : of) {
      if (value > highest) {
        highest = value;
      }
    }
    return limitedMin(of, lowest, highest);
  }

  /**
   * Returns the least over shares of which none is above its largest, and each owner has one part:
   * whatever the price, {@code price - sum over owners of the most of share (price - value)} is not
   * above it (Lagrangian duality).
   */
  private double limitedMin(double[] of, double lowest, double highest) {
    double low = lowest;
    double high = highest;
    double best = lowest;
    for (int step = 0; step < PRICES; step++) {
      double price = (low + high) / 2;
      double sum = 0;
      double shares = 0;
      int i = 0;
      while (i < parts) {
        int owner = owners[i];
        double gain = 0;
        double share = 0;
        for (; i < parts && owners[i] == owner; i++) {
          double ofPart = (price - of[i]) * largestShare[i];
          if (ofPart > gain) {
            gain = ofPart;
            share = largestShare[i];
          }
        }
        sum += gain;
        shares += share;
      }
      if (price - sum > best) {
        best = price - sum;
      }
      if (shares > 1) {
        high = price;
      } else {
        low = price;
      }
    }
    return best;
  }
}
