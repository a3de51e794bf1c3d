package io.shardtide.cost;

import org.hipparchus.util.KthSelector;

/** Statistics that a minority of wrong values does not change. */
public final class Medians {
  private Medians() {}

  /** Returns the median; the mean of the middle two of an even number. */
  public static double of(double... values) {
    double[] found = values.clone();
    KthSelector order = new KthSelector();
    int middle = found.length / 2;
    double upper = order.select(found, null, middle);
    return found.length % 2 == 1 ? upper : (order.select(found, null, middle - 1) + upper) / 2;
  }

  /**
   * Returns the slope of the Theil-Sen estimator: the median of the slopes of all pairs (Sen,
   * Estimates of the Regression Coefficient Based on Kendall's Tau, JASA 1968). Up to 29% of the
   * values may be wrong.
   *
   * @param x distinct
   * @param y as many, at least two
   */
  public static double slope(double[] x, double[] y) {
    double[] slopes = new double[x.length * (x.length - 1) / 2];
    int pairs = 0;
    for (int i = 0; i < x.length; i++) {
      for (int j = i + 1; j < x.length; j++) {
        slopes[pairs++] = (y[j] - y[i]) / (x[j] - x[i]);
      }
    }
    return of(slopes);
  }
}
