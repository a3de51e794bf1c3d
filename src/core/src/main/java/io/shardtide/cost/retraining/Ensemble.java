package io.shardtide.cost.retraining;

import io.shardtide.cost.LogCorrection;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

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

  private final RetrainingSettings settings;
  private final BayesianRegression.WeightPrior[] priors;

  /** Functions of each observation for a phase of the knots. */
  @FunctionalInterface
  interface Rows {
    double[][] of(double phase);
  }

  /**
   * @param scales how large a weight is that is no reason, and how likely one is a reason, both
   *     relative to those of the settings
   * @param off how far off the machine is, as a logarithm, at least 0: how large reasons are
   * @param settings the settings
   */
  Ensemble(double[] scales, double off, RetrainingSettings settings) {
    this.settings = settings;
    double large = Math.max(LEAST_REASON * settings.scale(), off);
    priors =
        Arrays.stream(scales)
            .mapToObj(
                scale ->
                    new BayesianRegression.WeightPrior(
                        scale * settings.scale(), large, scale * settings.reasons()))
            .toArray(BayesianRegression.WeightPrior[]::new);
  }

  /** Returns the weights of one member with the phase {@link #CENTER}. */
  double[] center(Rows rows, double[] targets, double[] variances) {
    return fit(CENTER, rows, targets, variances, new Random(settings.seed())).weights();
  }

  /** Returns the correction. */
  LogCorrection fit(Rows rows, double[] targets, double[] variances) {
    List<LogCorrection.Member> members = new ArrayList<>();
    Random random = new Random(settings.seed());
    for (int m = 0; m < MEMBERS; m++) {
      members.add(fit(m / (double) MEMBERS, rows, targets, variances, random));
    }
    return new LogCorrection(members);
  }

  private LogCorrection.Member fit(
      double phase, Rows rows, double[] targets, double[] variances, Random random) {
    BayesianRegression.Posterior posterior =
        new BayesianRegression(rows.of(phase), variances, priors).fit(targets, random);
    return new LogCorrection.Member(phase, posterior.mean(), posterior.draw());
  }
}
