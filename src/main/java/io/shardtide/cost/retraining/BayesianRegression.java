package io.shardtide.cost.retraining;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.math3.linear.Array2DRowRealMatrix;
import org.apache.commons.math3.linear.CholeskyDecomposition;
import org.apache.commons.math3.linear.RealMatrix;
import org.apache.commons.math3.stat.descriptive.moment.Mean;
import org.apache.commons.math3.stat.descriptive.rank.Median;

/**
 * Sparse Bayesian linear regression with heavy-tailed noise.
 *
 * <p>Each weight has a normal prior of its own variance, which follows from the evidence (automatic
 * relevance determination: Tipping, JMLR 2001, equations 16 and 17): weights that no observation
 * needs become small. Noise is Student's t, as iteratively reweighted least squares (Lange, Little
 * and Taylor, JASA 1989): the influence of an outlier falls with its distance. The noise begins at
 * the size of the targets and falls to what the residuals show, so that no cost is an outlier
 * before it could be explained.
 *
 * <p>The prior variance of a weight never falls below a floor, which keeps what was not observed
 * uncertain.
 */
final class BayesianRegression {
  /** Degrees of freedom of the noise: half of the observations lie within 0.77 deviations. */
  private static final double FREEDOM = 3;

  /** Median of the square of a value of Student's t with three degrees of freedom. */
  private static final double MEDIAN_SQUARE = 0.585;

  /** The noise falls by this factor from one iteration to the next, at most. */
  private static final double COOLING = 0.5;

  /** Iterations before priors follow the evidence. */
  private static final int WARM_UP = 3;

  private static final int ITERATIONS = 20;

  /** Evidence raises a prior standard deviation to this share of that for a machine off by e. */
  private static final double MOST = 2;

  private final double[][] rows;
  private final double[] variances;
  private final double[] scales;
  private final double[] most;
  private final double floor;

  /** Functions that some observation has. */
  private final int[] active;

  /**
   * The posterior of the weights.
   *
   * @param mean the mean
   * @param draw a draw
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  record Posterior(double[] mean, double[] draw) {}

  /**
   * @param rows functions of each observation
   * @param variances variance of each observation's noise
   * @param scales prior standard deviation of each weight, for a machine that is off by e
   * @param scale how far off the machine is, as a logarithm, above 0
   * @param floor the least that evidence leaves of it, as a share, above 0 to 1
   */
  BayesianRegression(
      double[][] rows, double[] variances, double[] scales, double scale, double floor) {
    this.rows = rows;
    this.variances = variances;
    this.scales = Arrays.stream(scales).map(s -> s * scale).toArray();
    most = Arrays.stream(scales).map(s -> s * MOST * Math.max(1, scale)).toArray();
    this.floor = floor;
    active =
        IntStream.range(0, this.scales.length)
            .filter(j -> Arrays.stream(rows).anyMatch(row -> row[j] != 0))
            .toArray();
  }

  /**
   * Returns the posterior of the weights.
   *
   * @param targets target of each observation
   * @param random draws from the posterior
   */
  Posterior fit(double[] targets, Random random) {
    int size = active.length;
    double[] theta = new double[size];
    double[] priors = new double[size];
    Arrays.setAll(priors, j -> scales[active[j]] * scales[active[j]]);
    for (int iteration = 0; ; iteration++) {
      RealMatrix precision = new Array2DRowRealMatrix(size, size);
      double[] right = new double[size];
      accumulate(targets, theta, iteration, precision, right);
      for (int j = 0; j < size; j++) {
        precision.addToEntry(j, j, 1 / priors[j]);
      }
      CholeskyDecomposition cholesky = new CholeskyDecomposition(precision, 1e-6, 1e-300);
      RealMatrix covariance = cholesky.getSolver().getInverse();
      theta = covariance.operate(right);
      if (iteration == ITERATIONS) {
        return posterior(theta, cholesky, random);
      }
      for (int j = 0; j < size && iteration >= WARM_UP; j++) {
        double known = 1 - covariance.getEntry(j, j) / priors[j];
        double evidence = theta[j] * theta[j] / Math.max(1e-12, known);
        double least = floor * scales[active[j]];
        priors[j] = Math.max(least * least, Math.min(most[active[j]] * most[active[j]], evidence));
      }
    }
  }

  private void accumulate(
      double[] targets, double[] theta, int iteration, RealMatrix precision, double[] right) {
    double[] squares = new double[rows.length];
    for (int i = 0; i < rows.length; i++) {
      double error = targets[i];
      for (int j = 0; j < active.length; j++) {
        error -= rows[i][active[j]] * theta[j];
      }
      squares[i] = error * error / variances[i];
    }
    double noise =
        Math.max(
            Math.max(1, new Median().evaluate(squares) / MEDIAN_SQUARE),
            new Mean().evaluate(squares) * StrictMath.pow(COOLING, iteration));
    double[][] sum = new double[active.length][active.length];
    for (int i = 0; i < rows.length; i++) {
      double weight = (FREEDOM + 1) / (FREEDOM + squares[i] / noise) / (noise * variances[i]);
      for (int j = 0; j < active.length; j++) {
        double scaled = weight * rows[i][active[j]];
        if (scaled != 0) {
          right[j] += scaled * targets[i];
          for (int k = 0; k <= j; k++) {
            sum[j][k] += scaled * rows[i][active[k]];
          }
        }
      }
    }
    for (int j = 0; j < active.length; j++) {
      for (int k = 0; k <= j; k++) {
        precision.setEntry(j, k, sum[j][k]);
        precision.setEntry(k, j, sum[j][k]);
      }
    }
  }

  private Posterior posterior(double[] theta, CholeskyDecomposition precision, Random random) {
    double[] mean = new double[scales.length];
    double[] draw = new double[scales.length];
    for (int j = 0; j < draw.length; j++) {
      draw[j] = scales[j] * random.nextGaussian();
    }
    double[] normal = new double[theta.length];
    Arrays.setAll(normal, j -> random.nextGaussian());
    // With precision L L^T, L^-T z has its covariance.
    RealMatrix upper = precision.getLT();
    for (int j = theta.length - 1; j >= 0; j--) {
      double z = normal[j];
      for (int k = j + 1; k < theta.length; k++) {
        z -= upper.getEntry(j, k) * normal[k];
      }
      normal[j] = z / upper.getEntry(j, j);
      mean[active[j]] = theta[j];
      draw[active[j]] = theta[j] + normal[j];
    }
    return new Posterior(mean, draw);
  }
}
