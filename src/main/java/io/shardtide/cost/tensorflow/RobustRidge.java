package io.shardtide.cost.tensorflow;

import java.util.Arrays;
import org.hipparchus.linear.Array2DRowRealMatrix;
import org.hipparchus.linear.ArrayRealVector;
import org.hipparchus.linear.CholeskyDecomposition;

/**
 * Linear regression of least absolute errors with a penalty on what it says of anchors: iteratively
 * reweighted least squares (Holland and Welsch, Communications in Statistics 1977), so that an
 * observation that is far off counts by its sign and not by its size.
 */
final class RobustRidge {
  private static final int ITERATIONS = 15;

  /** Errors below this count squared: near the noise of costs that are measured well. */
  private static final double KNEE = 0.02;

  /** Turns in which observations are left out. */
  private static final int TURNS = 5;

  /** Keeps what neither observations nor anchors decide at 0. */
  private static final double TINY = 1e-6;

  private final double[][] features;
  private final double[] weights;
  private final double[][] penalty;

  /**
   * @param features of each observation
   * @param weights how much each counts
   * @param anchors features of what should stay 0
   */
  RobustRidge(double[][] features, double[] weights, double[][] anchors) {
    this.features = features;
    this.weights = weights;
    penalty = new double[features[0].length][features[0].length];
    for (double[] anchor : anchors) {
      addOuter(penalty, anchor, 1.0 / anchors.length);
    }
  }

  /** Returns coefficients, each of which counts {@code use[i]} observations. */
  double[] fit(double[] targets, double lambda, boolean[] use) {
    double[] theta = new double[penalty.length];
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
      theta = solve(targets, lambda, use, theta);
    }
    return theta;
  }

  private double[] solve(double[] targets, double lambda, boolean[] use, double[] before) {
    int size = penalty.length;
    double[][] gram = new double[size][size];
    double[] right = new double[size];
    double total = 0;
    for (int i = 0; i < features.length; i++) {
      total += use[i] ? weights[i] : 0;
    }
    for (int i = 0; i < features.length; i++) {
      if (use[i]) {
        double error = Math.abs(targets[i] - dot(features[i], before));
        double weight = weights[i] / total / Math.max(KNEE, error);
        addOuter(gram, features[i], weight);
        for (int j = 0; j < size; j++) {
          right[j] += weight * features[i][j] * targets[i];
        }
      }
    }
    for (int j = 0; j < size; j++) {
      for (int k = 0; k < j; k++) {
        gram[j][k] += lambda * penalty[j][k];
        gram[k][j] = gram[j][k];
      }
      gram[j][j] += lambda * (penalty[j][j] + TINY) + 1e-12;
    }
    return new CholeskyDecomposition(new Array2DRowRealMatrix(gram, false), 1e-9, 1e-14)
        .getSolver()
        .solve(new ArrayRealVector(right, false))
        .toArray();
  }

  /** Adds to the lower half of a matrix. */
  private static void addOuter(double[][] sum, double[] v, double weight) {
    for (int j = 0; j < v.length; j++) {
      double scaled = weight * v[j];
      for (int k = 0; k <= j; k++) {
        sum[j][k] += scaled * v[k];
      }
    }
  }

  /**
   * Returns the penalty of some that predicts best what was left out, in five turns; the larger of
   * two that do alike.
   *
   * @param targets one per observation
   * @param groups which observations are left out together, numbered from 0: those of one thing,
   *     measured several times, know each other's answer
   * @param lambdas to choose from, the largest first
   */
  double choose(double[] targets, int[] groups, double... lambdas) {
    double best = Double.POSITIVE_INFINITY;
    double chosen = lambdas[0];
    for (double lambda : lambdas) {
      double error = 0;
      for (int turn = 0; turn < TURNS; turn++) {
        boolean[] use = new boolean[targets.length];
        for (int i = 0; i < use.length; i++) {
          use[i] = groups[i] % TURNS != turn;
        }
        double[] theta = fit(targets, lambda, use);
        for (int i = 0; i < use.length; i++) {
          error += use[i] ? 0 : weights[i] * Math.abs(targets[i] - dot(features[i], theta));
        }
      }
      if (error < best) {
        best = error;
        chosen = lambda;
      }
    }
    return chosen;
  }

  /** Returns coefficients from all observations. */
  double[] fit(double[] targets, double lambda) {
    boolean[] all = new boolean[targets.length];
    Arrays.fill(all, true);
    return fit(targets, lambda, all);
  }

  static double dot(double[] a, double[] b) {
    double sum = 0;
    for (int i = 0; i < a.length; i++) {
      sum += a[i] * b[i];
    }
    return sum;
  }
}
