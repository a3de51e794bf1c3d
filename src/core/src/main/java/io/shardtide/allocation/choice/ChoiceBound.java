package io.shardtide.allocation.choice;

import java.util.Arrays;

/**
 * An upper bound of the value of all choices: the Lagrangian relaxation. With a price for each
 * limited quantity, the groups no longer depend on each other, and the best option of each costs no
 * search. For any prices the sum is a bound; the prices of the least bound are found by the
 * ellipsoid method (Shor 1977; Bland, Goldfarb and Todd 1981), which needs no step lengths and
 * converges at a known rate, fast in a few dimensions.
 */
final class ChoiceBound {
  /** In d dimensions, 2 d (d + 1) iterations shrink the ellipsoid's radius by a factor of e. */
  private static final int ITERATIONS_PER_E_FOLD = 2;

  /** Prices are found to about e^-18, 1e-8, of the greatest price. */
  private static final int E_FOLDS = 18;

  /** Greatest price of all of a quantity, in differences of all values. */
  private static final double GREATEST_PRICE = 4;

  private final ChoiceProblem problem;
  private final int dimensions;

  /** The least upper bound found. */
  double bound = Double.POSITIVE_INFINITY;

  private double[] bestPrices;

  /**
   * @param problem the problem
   */
  ChoiceBound(ChoiceProblem problem) {
    this.problem = problem;
    dimensions = problem.limits().length;
    bestPrices = new double[dimensions];
    minimize();
  }

  /**
   * Returns by how much the bound falls if an option is chosen, by group and option: an option that
   * makes it fall below the value of a known choice is in no better one.
   */
  double[][] reductions() {
    double[][] reductions = new double[problem.values().length][];
    for (int g = 0; g < reductions.length; g++) {
      int group = g;
      double[] priced = new double[problem.values()[g].length];
      Arrays.setAll(priced, o -> priced(group, o, bestPrices));
      double best = Arrays.stream(priced).max().orElseThrow();
      reductions[g] = Arrays.stream(priced).map(value -> best - value).toArray();
    }
    return reductions;
  }

  private void minimize() {
    evaluate(new double[dimensions]);
    double range = 0;
    for (double[] group : problem.values()) {
      range += Arrays.stream(group).max().orElseThrow() - Arrays.stream(group).min().orElseThrow();
    }
    if (dimensions < 2 || range == 0) {
      // The ellipsoid method needs two dimensions; without differences any choice is optimal.
      return;
    }
    // A price at which all of a quantity costs several times what all values differ is beyond any
    // use; where the best prices are higher still, the bound is valid but not the least.
    double[] unit = new double[dimensions];
    double[] centre = new double[dimensions];
    double[][] shape = new double[dimensions][dimensions];
    for (int q = 0; q < dimensions; q++) {
      unit[q] = GREATEST_PRICE * range / Math.max(1, problem.limits()[q]);
      centre[q] = 0.5;
      shape[q][q] = dimensions;
    }
    int iterations = E_FOLDS * ITERATIONS_PER_E_FOLD * dimensions * (dimensions + 1);
    for (int i = 0; i < iterations; i++) {
      if (!cut(centre, shape, slope(centre, unit))) {
        return;
      }
    }
  }

  /** Returns a direction in which the bound, or a violation of the range, grows. */
  private double[] slope(double[] centre, double[] unit) {
    double[] slope = new double[dimensions];
    double[] prices = new double[dimensions];
    for (int q = 0; q < dimensions; q++) {
      if (centre[q] < 0) {
        slope[q] = -1;
        return slope;
      }
      prices[q] = centre[q] * unit[q];
    }
    double[] free = evaluate(prices);
    for (int q = 0; q < dimensions; q++) {
      slope[q] = free[q] * unit[q];
    }
    return slope;
  }

  /** Halves the ellipsoid at its centre; returns whether it can go on. */
  private boolean cut(double[] centre, double[][] shape, double[] slope) {
    double[] product = new double[dimensions];
    double norm = 0;
    for (int p = 0; p < dimensions; p++) {
      for (int q = 0; q < dimensions; q++) {
        product[p] += shape[p][q] * slope[q];
      }
      norm += slope[p] * product[p];
    }
    if (!(norm > 0)) {
      return false;
    }
    double root = Math.sqrt(norm);
    double n = dimensions;
    for (int p = 0; p < dimensions; p++) {
      centre[p] -= product[p] / root / (n + 1);
    }
    for (int p = 0; p < dimensions; p++) {
      for (int q = 0; q < dimensions; q++) {
        shape[p][q] =
            n * n / (n * n - 1) * (shape[p][q] - 2 / (n + 1) * product[p] * product[q] / norm);
      }
    }
    return true;
  }

  /** Evaluates the bound at prices; returns how much of each quantity stays free. */
  private double[] evaluate(double[] prices) {
    double[] free = problem.limits().clone();
    double sum = 0;
    for (int q = 0; q < dimensions; q++) {
      sum += prices[q] * problem.limits()[q];
    }
    for (int g = 0; g < problem.values().length; g++) {
      int best = 0;
      double bestValue = Double.NEGATIVE_INFINITY;
      for (int o = 0; o < problem.values()[g].length; o++) {
        double value = priced(g, o, prices);
        if (value > bestValue) {
          best = o;
          bestValue = value;
        }
      }
      sum += bestValue;
      for (int q = 0; q < dimensions; q++) {
        free[q] -= problem.uses()[q][g][best];
      }
    }
    if (sum < bound) {
      bound = sum;
      bestPrices = prices.clone();
    }
    return free;
  }

  private double priced(int group, int option, double[] prices) {
    double value = problem.values()[group][option];
    for (int q = 0; q < dimensions; q++) {
      value -= prices[q] * problem.uses()[q][group][option];
    }
    return value;
  }
}
