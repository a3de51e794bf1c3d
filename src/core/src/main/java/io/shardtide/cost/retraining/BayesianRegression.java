package io.shardtide.cost.retraining;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.hipparchus.linear.Array2DRowRealMatrix;
import org.hipparchus.linear.CholeskyDecomposition;
import org.hipparchus.linear.RealMatrix;
import org.hipparchus.stat.descriptive.moment.Mean;
import org.hipparchus.stat.descriptive.rank.Median;

/**
 * Sparse Bayesian linear regression with heavy-tailed noise, averaged over explanations.
 *
 * <p>A weight is either small or a reason: its prior is a mixture of two normal distributions
 * (stochastic search variable selection: George and McCulloch, JASA 1993). Which weights are
 * reasons is drawn from the posterior by Gibbs sampling, with the weights integrated out: each is
 * switched, and each reason may move to any other function at once, so that explanations which are
 * far from one another are compared by how well they explain all targets. The mean is that of the
 * draws.
 *
 * <p>Noise is Student's t, as iteratively reweighted least squares (Lange, Little and Taylor, JASA
 * 1989): the influence of an outlier falls with its distance. The noise begins at the size of the
 * targets and falls to what the residuals show, so that no cost is an outlier before it could be
 * explained.
 */
final class BayesianRegression {
  /** Degrees of freedom of the noise: half of the observations lie within 0.77 deviations. */
  private static final double FREEDOM = 3;

  /** Median of the square of a value of Student's t with three degrees of freedom. */
  private static final double MEDIAN_SQUARE = 0.585;

  /** The noise falls by this factor from one iteration to the next, at most. */
  private static final double COOLING = 0.5;

  /** Iterations before draws count. */
  private static final int BURN_IN = 8;

  private static final int ITERATIONS = 18;

  /** Draws of all switches in an iteration. */
  private static final int SWEEPS = 3;

  /** Observations that are added in one pass over the precision, in their order. */
  private static final int BLOCK = 4;

  /** Active functions of each observation, then zeros up to whole blocks. */
  private final double[][] rows;

  private final double[] variances;
  private final WeightPrior[] priors;

  /** Functions that some observation has. */
  private final int[] active;

  /** The regression in one state of its switches: the normal posterior of its active weights. */
  private final class Sampler {
    private final boolean[] isReason;
    private double[][] covariance = {};
    private double[] mean;

    Sampler() {
      isReason = new boolean[active.length];
      mean = new double[active.length];
    }

    /** Returns the posterior's precision with other weights of the observations. */
    CholeskyDecomposition observe(double[] targets, int iteration) {
      double[] right = new double[active.length];
      double[][] precision = new double[active.length][active.length];
      accumulate(targets, mean, iteration, precision, right);
      for (int j = 0; j < active.length; j++) {
        precision[j][j] += prior(j).precision(isReason[j]);
      }
      CholeskyDecomposition cholesky =
          new CholeskyDecomposition(new Array2DRowRealMatrix(precision, false), 1e-6, 1e-300);
      RealMatrix inverse = cholesky.getSolver().getInverse();
      covariance = inverse.getData();
      mean = inverse.operate(right);
      return cholesky;
    }

    void sweep(Random random) {
      for (int j = 0; j < active.length; j++) {
        double odds = StrictMath.exp(isReason[j] ? -logOdds(j) : logOdds(j));
        if (random.nextDouble() * (1 + odds) < odds) {
          flip(j);
        }
      }
      int[] reasons = IntStream.range(0, active.length).filter(j -> isReason[j]).toArray();
      for (int j : reasons) {
        flip(j);
        flip(drawn(random));
      }
    }

    /** Draws a function to become a reason. */
    private int drawn(Random random) {
      double[] logs = new double[active.length];
      Arrays.setAll(logs, j -> isReason[j] ? Double.NEGATIVE_INFINITY : logOdds(j));
      double most = Arrays.stream(logs).max().orElseThrow();
      double[] odds = Arrays.stream(logs).map(log -> StrictMath.exp(log - most)).toArray();
      double left = random.nextDouble() * Arrays.stream(odds).sum();
      int j = 0;
      while (j < odds.length - 1 && left >= odds[j]) {
        left -= odds[j++];
      }
      return j;
    }

    /** Returns the logarithm of the odds that a weight is a reason, given the other switches. */
    private double logOdds(int j) {
      WeightPrior prior = prior(j);
      double change = change(j);
      double log = change(j, change);
      return prior.logOdds() + (isReason[j] ? -log : log);
    }

    /** Returns by how much the precision of a weight's prior changes if its switch does. */
    private double change(int j) {
      return prior(j).precision(!isReason[j]) - prior(j).precision(isReason[j]);
    }

    /** Returns by how much the logarithm of the evidence changes with a weight's precision. */
    private double change(int j, double change) {
      double now = prior(j).precision(isReason[j]);
      double factor = 1 + change * covariance[j][j];
      return 0.5
          * (StrictMath.log((now + change) / now)
              - StrictMath.log(factor)
              - change * mean[j] * mean[j] / factor);
    }

    /** Changes a switch (Sherman-Morrison). */
    private void flip(int j) {
      double change = change(j);
      double factor = change / (1 + change * covariance[j][j]);
      double[] column = covariance[j].clone();
      double step = factor * mean[j];
      for (int k = 0; k < column.length; k++) {
        double scaled = factor * column[k];
        for (int l = 0; l < column.length; l++) {
          covariance[k][l] -= scaled * column[l];
        }
        mean[k] -= step * column[k];
      }
      isReason[j] = !isReason[j];
    }

    private WeightPrior prior(int j) {
      return priors[active[j]];
    }
  }

  /**
   * The prior of a weight.
   *
   * @param small standard deviation of a weight that is no reason, above 0
   * @param large standard deviation of one that is, above {@code small}
   * @param share probability that it is, above 0 and below 1
   */
  record WeightPrior(double small, double large, double share) {
    double precision(boolean isReason) {
      return isReason ? 1 / (large * large) : 1 / (small * small);
    }

    double logOdds() {
      return StrictMath.log(share / (1 - share));
    }

    /** Returns the standard deviation of a weight of which nothing is known. */
    double deviation() {
      return Math.sqrt(share * large * large + (1 - share) * small * small);
    }
  }

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
   * @param priors prior of each weight
   */
  BayesianRegression(double[][] rows, double[] variances, WeightPrior[] priors) {
    this.variances = variances;
    this.priors = priors.clone();
    active =
        IntStream.range(0, priors.length)
            .filter(j -> Arrays.stream(rows).anyMatch(row -> row[j] != 0))
            .toArray();
    this.rows = new double[(rows.length + BLOCK - 1) / BLOCK * BLOCK][active.length];
    for (int i = 0; i < rows.length; i++) {
      double[] row = rows[i];
      Arrays.setAll(this.rows[i], j -> row[active[j]]);
    }
  }

  /**
   * Returns the posterior of the weights.
   *
   * @param targets target of each observation
   * @param random draws from the posterior
   */
  Posterior fit(double[] targets, Random random) {
    Sampler sampler = new Sampler();
    double[] mean = new double[active.length];
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
      sampler.observe(targets, iteration);
      for (int sweep = 0; sweep < SWEEPS; sweep++) {
        sampler.sweep(random);
        for (int j = 0; j < mean.length && iteration >= BURN_IN; j++) {
          mean[j] += sampler.mean[j] / (SWEEPS * (ITERATIONS - BURN_IN));
        }
      }
    }
    CholeskyDecomposition precision = sampler.observe(targets, ITERATIONS);
    return posterior(mean, sampler.mean, precision, random);
  }

  private void accumulate(
      double[] targets, double[] theta, int iteration, double[][] precision, double[] right) {
    double[] squares = new double[variances.length];
    for (int i = 0; i < squares.length; i++) {
      double error = targets[i];
      for (int j = 0; j < active.length; j++) {
        error -= rows[i][j] * theta[j];
      }
      squares[i] = error * error / variances[i];
    }
    double noise =
        Math.max(
            Math.max(1, new Median().evaluate(squares) / MEDIAN_SQUARE),
            new Mean().evaluate(squares) * StrictMath.pow(COOLING, iteration));
    double[] weights = new double[rows.length];
    for (int i = 0; i < squares.length; i++) {
      weights[i] = (FREEDOM + 1) / (FREEDOM + squares[i] / noise) / (noise * variances[i]);
    }
    double[] all = Arrays.copyOf(targets, rows.length);
    for (int i = 0; i < rows.length; i += BLOCK) {
      add(i, weights, all, precision, right);
    }
    for (int j = 0; j < active.length; j++) {
      for (int k = 0; k < j; k++) {
        precision[k][j] = precision[j][k];
      }
    }
  }

  /** Adds a block of observations, in their order. */
  private void add(int i, double[] weights, double[] all, double[][] precision, double[] right) {
    double[] a = rows[i];
    double[] b = rows[i + 1];
    double[] c = rows[i + 2];
    double[] d = rows[i + 3];
    for (int j = 0; j < right.length; j++) {
      double ofA = weights[i] * a[j];
      double ofB = weights[i + 1] * b[j];
      double ofC = weights[i + 2] * c[j];
      double ofD = weights[i + 3] * d[j];
      right[j] = right[j] + ofA * all[i] + ofB * all[i + 1] + ofC * all[i + 2] + ofD * all[i + 3];
      double[] sums = precision[j];
      for (int k = 0; k <= j; k++) {
        sums[k] = sums[k] + ofA * a[k] + ofB * b[k] + ofC * c[k] + ofD * d[k];
      }
    }
  }

  private Posterior posterior(
      double[] mean, double[] center, CholeskyDecomposition precision, Random random) {
    double[] means = new double[priors.length];
    double[] draw = new double[priors.length];
    Arrays.setAll(draw, j -> priors[j].deviation() * random.nextGaussian());
    double[] normal = new double[active.length];
    Arrays.setAll(normal, j -> random.nextGaussian());
    // With precision L L^T, L^-T z has its covariance.
    RealMatrix upper = precision.getLT();
    for (int j = active.length - 1; j >= 0; j--) {
      double z = normal[j];
      for (int k = j + 1; k < active.length; k++) {
        z -= upper.getEntry(j, k) * normal[k];
      }
      normal[j] = z / upper.getEntry(j, j);
      means[active[j]] = mean[j];
      draw[active[j]] = center[j] + normal[j];
    }
    return new Posterior(means, draw);
  }
}
