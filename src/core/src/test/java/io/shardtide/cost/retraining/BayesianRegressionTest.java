package io.shardtide.cost.retraining;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** The regression that corrections are fitted by. */
class BayesianRegressionTest {
  private static final double NOISE = 0.01;
  private static final int FUNCTIONS = 20;

  /** Prior probability that a function is a reason. */
  private static final double SHARE = 0.1;

  private static double[][] rows(Random random, int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> IntStream.range(0, FUNCTIONS).mapToDouble(j -> gaussian(random)).toArray())
        .toArray(double[][]::new);
  }

  private static double gaussian(Random random) {
    return random.nextGaussian();
  }

  /** Returns targets of which two functions are the reason. */
  private static double[] targets(double[][] rows, Random random) {
    return Arrays.stream(rows)
        .mapToDouble(row -> 0.5 * row[3] - 0.3 * row[7] + NOISE * random.nextGaussian())
        .toArray();
  }

  private static BayesianRegression regression(double[][] rows) {
    double[] variances = new double[rows.length];
    Arrays.fill(variances, NOISE * NOISE);
    BayesianRegression.WeightPrior[] priors = new BayesianRegression.WeightPrior[FUNCTIONS];
    Arrays.fill(priors, new BayesianRegression.WeightPrior(0.01, 0.5, SHARE));
    return new BayesianRegression(rows, variances, priors);
  }

  @Property(tries = 30)
  void the_reasons_are_found_in_spite_of_outliers(@ForAll long seed) {
    Random random = new Random(seed);
    double[][] rows = rows(random, 60);
    double[] targets = targets(rows, random);
    for (int i = 0; i < 10; i++) {
      targets[i] += i % 2 == 0 ? 2 : -5;
    }
    double[] expected = new double[FUNCTIONS];
    expected[3] = 0.5;
    expected[7] = -0.3;
    assertThat(regression(rows).fit(targets, random).mean())
        .containsExactly(expected, within(0.03));
  }

  @Test
  void what_was_not_observed_stays_uncertain() {
    Random random = new Random(1);
    double[][] rows = rows(random, 60);
    for (double[] row : rows) {
      row[5] = 0;
    }
    double[] targets = targets(rows, random);
    double[] squares = new double[FUNCTIONS];
    for (int draw = 0; draw < 100; draw++) {
      BayesianRegression.Posterior posterior = regression(rows).fit(targets, random);
      assertThat(posterior.mean()[5]).isZero();
      for (int j = 0; j < FUNCTIONS; j++) {
        double error = posterior.draw()[j] - posterior.mean()[j];
        squares[j] += error * error / 100;
      }
    }
    assertThat(Math.sqrt(squares[5])).as("the prior's").isBetween(0.12, 0.2);
    assertThat(Math.sqrt(squares[3])).as("that of the noise").isLessThan(0.01);
  }

  /** Two functions of which each explains the same alone: the average takes half of each. */
  @Test
  void explanations_that_are_equally_good_are_averaged() {
    Random random = new Random(2);
    double[][] rows = rows(random, 40);
    for (double[] row : rows) {
      row[8] = row[3];
    }
    double[] targets =
        Arrays.stream(rows)
            .mapToDouble(row -> 0.5 * row[3] + NOISE * random.nextGaussian())
            .toArray();
    double mean = 0;
    int together = 0;
    for (int chain = 0; chain < 40; chain++) {
      BayesianRegression.Posterior posterior = regression(rows).fit(targets, random);
      assertThat(posterior.mean()[3] + posterior.mean()[8]).isEqualTo(0.5, within(0.03));
      mean += posterior.mean()[3] / 40;
      together += Math.min(posterior.draw()[3], posterior.draw()[8]) > 0.1 ? 1 : 0;
    }
    assertThat(mean).isBetween(0.15, 0.35);
    assertThat(together).as("draws with two reasons, of 40").isLessThan(12);
  }
}
