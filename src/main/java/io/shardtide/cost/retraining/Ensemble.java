package io.shardtide.cost.retraining;

import io.shardtide.cost.LogCorrection;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Fits the members of a correction: each on other weights of the observations (Bayesian bootstrap:
 * Rubin, Annals of Statistics 1981) and with other knots.
 */
final class Ensemble {
  private static final int MEMBERS = Integer.getInteger("mem", 12);

  private final RetrainingSettings settings;
  private final double[] scales;

  /** Functions of each observation for a phase of the knots. */
  @FunctionalInterface
  interface Rows {
    double[][] of(double phase);
  }

  /**
   * @param scales prior standard deviation of each weight, for a machine that is off by e
   * @param scale how far off the machine is, as a logarithm
   */
  Ensemble(double[] scales, double scale, RetrainingSettings settings) {
    this.settings = settings;
    double least = Math.max(settings.leastScale(), scale);
    this.scales = Arrays.stream(scales).map(s -> s * least).toArray();
  }

  /** Returns one member fitted to all observations as they are. */
  double[] center(Rows rows, double[] targets, double[] variances) {
    return new BayesianRegression(rows.of(0.5), variances, scales, settings.floor())
        .fit(targets, new Random(settings.seed()))
        .mean();
  }

  /** Returns the members. */
  LogCorrection fit(Rows rows, double[] targets, double[] variances) {
    List<LogCorrection.Member> members = new ArrayList<>();
    Random random = new Random(settings.seed());
    for (int m = 0; m < MEMBERS; m++) {
      double phase = m / (double) MEMBERS;
      double[] weighted = new double[variances.length];
      // A weight of an exponential distribution divides the variance.
      Arrays.setAll(
          weighted, i -> Boolean.getBoolean("boot") ? variances[i] / Math.max(1e-3, -StrictMath.log(1 - random.nextDouble())) : variances[i]);
      BayesianRegression.Posterior posterior =
          new BayesianRegression(rows.of(phase), weighted, scales, settings.floor())
              .fit(targets, random);
      members.add(new LogCorrection.Member(phase, posterior.mean(), posterior.draw()));
    }
    return new LogCorrection(members);
  }

  /** Returns a correction on top of another one, whose costs its targets contain. */
  static LogCorrection plus(LogCorrection correction, LogCorrection before) {
    List<LogCorrection.Member> members = new ArrayList<>();
    for (int m = 0; m < correction.members().size(); m++) {
      LogCorrection.Member member = correction.members().get(m);
      double[] mean = before.members().get(m).weights();
      members.add(
          new LogCorrection.Member(
              member.phase(), sum(member.weights(), mean), sum(member.draw(), mean)));
    }
    return new LogCorrection(members);
  }

  private static double[] sum(double[] a, double[] b) {
    double[] sum = new double[a.length];
    Arrays.setAll(sum, i -> a[i] + b[i]);
    return sum;
  }
}
