package io.shardtide.cost.tensorflow;

import java.util.Arrays;
import org.hipparchus.linear.Array2DRowRealMatrix;
import org.hipparchus.linear.ArrayRealVector;
import org.hipparchus.linear.CholeskyDecomposition;

/**
 * Robust linear regression with a quadratic penalty on its predictions of anchors. Minimizes
 * absolute errors by iteratively reweighted least squares (Holland and Welsch, Communications in
 * Statistics 1977), so that the influence of outliers is bounded.
 */
final class RobustRidge {
  private static final int ITERATIONS = 15;

  /** Errors below this are squared: near the noise of precise measurements. */
  private static final double DELTA = 0.02;

  /** Folds of the cross-validation. */
  private static final int FOLDS = 5;

  /** Regularizes coefficients that neither observations nor anchors determine. */
  private static final double RIDGE = 1e-6;

  private final double[][] features;
  private final double[] weights;
  private final double[][] penalty;

  /**
   * @param features features of each observation
   * @param weights weight of each observation
   * @param anchors features of the anchors, whose predictions should be 0
   */
  RobustRidge(double[][] features, double[] weights, double[][] anchors) {
    this.features = features;
    this.weights = weights;
    penalty = new double[features[0].length][features[0].length];
    for (double[] anchor : anchors) {
      addOuter(penalty, anchor, 1.0 / anchors.length);
    }
  }

  /** Returns the coefficients fitted to the observations with {@code use[i]}. */
  private double[] fit(double[] targets, double lambda, boolean[] use) {
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
        double weight = weights[i] / total / Math.max(DELTA, error);
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
      gram[j][j] += lambda * (penalty[j][j] + RIDGE) + 1e-12;
    }
    return new CholeskyDecomposition(new Array2DRowRealMatrix(gram, false), 1e-9, 1e-14)
        .getSolver()
        .solve(new ArrayRealVector(right, false))
        .toArray();
  }

  /** Adds the weighted outer product of a vector to the lower half of a matrix. */
  private static void addOuter(double[][] sum, double[] v, double weight) {
    for (int j = 0; j < v.length; j++) {
      double scaled = weight * v[j];
      for (int k = 0; k <= j; k++) {
        sum[j][k] += scaled * v[k];
      }
    }
  }

  /**
   * Chooses the penalty weight by 5-fold cross-validation; of equally good ones, the larger.
   *
   * @param targets target of each observation
   * @param groups group of each observation, numbered from 0; a group is in one fold, since
   *     repeated measurements are not independent
   * @param lambdas candidates, the largest first
   */
  double chooseLambda(double[] targets, int[] groups, double... lambdas) {
    double lowest = Double.POSITIVE_INFINITY;
    double best = lambdas[0];
    for (double lambda : lambdas) {
      double error = 0;
      for (int fold = 0; fold < FOLDS; fold++) {
        boolean[] use = new boolean[targets.length];
        for (int i = 0; i < use.length; i++) {
          use[i] = groups[i] % FOLDS != fold;
        }
        double[] theta = fit(targets, lambda, use);
        for (int i = 0; i < use.length; i++) {
          error += use[i] ? 0 : weights[i] * Math.abs(targets[i] - dot(features[i], theta));
        }
      }
      if (error < lowest) {
        lowest = error;
        best = lambda;
      }
    }
    return best;
  }

  /** Returns the coefficients fitted to all observations. */
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
