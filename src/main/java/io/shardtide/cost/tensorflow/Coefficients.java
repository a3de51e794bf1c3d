package io.shardtide.cost.tensorflow;

import java.util.ArrayList;
import java.util.List;

/** Least squares with coefficients not below zero, of relative errors. */
final class Coefficients {
  private static final int MAX_SWEEPS = 100_000;
  private static final double CONVERGED = 1e-12;

  private final int terms;
  private final double[][] gram;
  private final double[] target;

  /** Prepares a fit of so many coefficients. */
  Coefficients(int terms) {
    this.terms = terms;
    gram = new double[terms][terms];
    target = new double[terms];
  }

  /**
   * Adds an observation.
   *
   * @param values the terms
   * @param observed what their weighted sum should be
   * @param scale errors count as fractions of it
   * @param weight how much the observation counts
   */
  void add(double[] values, double observed, double scale, double weight) {
    double w = weight / (scale * scale);
    for (int i = 0; i < terms; i++) {
      target[i] += w * values[i] * observed;
      for (int j = 0; j < terms; j++) {
        gram[i][j] += w * values[i] * values[j];
      }
    }
  }

  /** Returns the coefficients: each in turn is set to its best value, until none changes. */
  List<Double> fit() {
    double[] c = new double[terms];
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
      double change = 0;
      for (int i = 0; i < terms; i++) {
        double rest = target[i];
        for (int j = 0; j < terms; j++) {
          if (j != i) {
            rest -= gram[i][j] * c[j];
          }
        }
        double best = gram[i][i] > 0 ? Math.max(0, rest / gram[i][i]) : 0;
        change = Math.max(change, Math.abs(best - c[i]) / Math.max(Math.abs(best), 1e-300));
        c[i] = best;
      }
      if (change < CONVERGED) {
        break;
      }
    }
    List<Double> fitted = new ArrayList<>();
    for (double value : c) {
      fitted.add(value);
    }
    return fitted;
  }

  /** Returns the sum of terms with coefficients. */
  static double sum(List<Double> coefficients, double[] values) {
    double sum = 0;
    for (int i = 0; i < values.length; i++) {
      sum += coefficients.get(i) * values[i];
    }
    return sum;
  }
}
