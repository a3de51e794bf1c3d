package io.shardtide.cost.tensorflow;

import java.util.Arrays;
import java.util.List;

/** Weighted least squares of relative errors with non-negative coefficients. */
final class NonNegativeLeastSquares {
  private static final int MAX_SWEEPS = 100_000;
  private static final double CONVERGED = 1e-12;

  private final double[][] gram;
  private final double[] target;

  /**
   * @param terms number of coefficients
   */
  NonNegativeLeastSquares(int terms) {
    gram = new double[terms][terms];
    target = new double[terms];
  }

  /**
   * Adds an observation.
   *
   * @param values values of the terms
   * @param observed target of their weighted sum
   * @param scale value that errors are relative to
   * @param weight weight of the observation
   */
  void add(double[] values, double observed, double scale, double weight) {
    double w = weight / (scale * scale);
    for (int i = 0; i < target.length; i++) {
      target[i] += w * values[i] * observed;
      for (int j = 0; j < target.length; j++) {
        gram[i][j] += w * values[i] * values[j];
      }
    }
  }

  /** Returns the coefficients, by cyclic coordinate descent until convergence. */
  List<Double> fit() {
    double[] c = new double[target.length];
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
      double change = 0;
      for (int i = 0; i < target.length; i++) {
        double residual = target[i];
        for (int j = 0; j < target.length; j++) {
          if (j != i) {
            residual -= gram[i][j] * c[j];
          }
        }
        double best = gram[i][i] > 0 ? Math.max(0, residual / gram[i][i]) : 0;
        change = Math.max(change, Math.abs(best - c[i]) / Math.max(Math.abs(best), 1e-300));
        c[i] = best;
      }
      if (change < CONVERGED) {
        break;
      }
    }
    return Arrays.stream(c).boxed().toList();
  }

  /** Returns the sum of values weighted by coefficients. */
  static double weightedSum(List<Double> coefficients, double[] values) {
    double sum = 0;
    for (int i = 0; i < coefficients.size(); i++) {
      sum += coefficients.get(i) * values[i];
    }
    return sum;
  }
}
