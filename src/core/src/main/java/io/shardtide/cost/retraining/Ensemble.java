package io.shardtide.cost.retraining;

import io.shardtide.cost.LogCorrection;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.DoubleFunction;

/**
 * Fits the members of a correction, each with other knots. Where measurements leave the place of a
 * step open, members put it at different places: their mean is a slope, and their spread says how
 * much is not known. A draw of each member's posterior adds what its own fit does not know.
 */
final class Ensemble {
  /** A member costs a regression; with 12 knots are a twelfth of their distance apart. */
  private static final int MEMBERS = 12;

  /** Reasons are at least this many times as large as what a model that is right is off by. */
  private static final double LEAST_REASON = 2;

  /** Phase of the fit around which costs are linearized. */
  static final double CENTER = 0.5;

  /**
   * Standard deviation of a weight that is no reason, as a logarithm: what a model that is right
   * may still be off by. This and what follows was chosen on simulated changes of a machine.
   */
  private static final double SCALE = 0.02;

  /** Share of weights that are reasons: a change of a machine has one or two, of some 150. */
  private static final double REASONS = 0.07;

  /** Variance of the logarithm of a cost that no correction explains: 1% of the cost. */
  private static final double MODEL_VARIANCE = 1e-4;

  /** Variance of the logarithm of one measurement: 2% of noise. */
  private static final double NOISE_VARIANCE = 4e-4;

  /** Weight of an old sample, relative to a recent one. */
  private static final double OLD_WEIGHT = 0.05;

  private final long seed;
  private final BayesianRegression.WeightPrior[] priors;

  /**
   * @param scales how large a weight is that is no reason, and how likely one is a reason, both
   *     relative to the usual ones
   * @param off how far off the machine is, as a logarithm, at least 0: how large reasons are
   * @param seed seed of the members' draws
   */
  Ensemble(double[] scales, double off, long seed) {
    this.seed = seed;
    double large = Math.max(LEAST_REASON * SCALE, off);
    priors =
        Arrays.stream(scales)
            .mapToObj(
                scale -> new BayesianRegression.WeightPrior(scale * SCALE, large, scale * REASONS))
            .toArray(BayesianRegression.WeightPrior[]::new);
  }

  /** Returns the variance of the logarithm of the median of some measurements. */
  static double variance(int measurements, boolean isRecent) {
    double variance = MODEL_VARIANCE + NOISE_VARIANCE / measurements;
    return isRecent ? variance : variance / OLD_WEIGHT;
  }

  /**
   * Returns the weights of one member with the phase {@link #CENTER}.
   *
   * @param rows functions of each observation for a phase of the knots
   */
  double[] center(DoubleFunction<double[][]> rows, double[] targets, double[] variances) {
    return fit(CENTER, rows, targets, variances, new Random(seed)).weights();
  }

  /**
   * Returns the correction.
   *
   * @param rows functions of each observation for a phase of the knots
   */
  LogCorrection fit(DoubleFunction<double[][]> rows, double[] targets, double[] variances) {
    List<LogCorrection.Member> members = new ArrayList<>();
    Random random = new Random(seed);
    for (int m = 0; m < MEMBERS; m++) {
      members.add(fit(m / (double) MEMBERS, rows, targets, variances, random));
    }
    return new LogCorrection(members);
  }

  private LogCorrection.Member fit(
      double phase,
      DoubleFunction<double[][]> rows,
      double[] targets,
      double[] variances,
      Random random) {
    BayesianRegression.Posterior posterior =
        new BayesianRegression(rows.apply(phase), variances, priors).fit(targets, random);
    return new LogCorrection.Member(phase, posterior.mean(), posterior.draw());
  }
}
