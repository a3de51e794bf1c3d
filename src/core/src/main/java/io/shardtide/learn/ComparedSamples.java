package io.shardtide.learn;

import io.shardtide.cost.Evaluation;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.function.ToDoubleFunction;
import org.hipparchus.stat.descriptive.rank.Median;

/**
 * Samples as two models predict them.
 *
 * @param champion predictions of the current model
 * @param challenger those of the retrained one, of the same samples
 */
record ComparedSamples(Evaluation champion, Evaluation challenger) {
  /** Larger than three standard deviations of normal errors, of which the median is 0.67. */
  private static final double MOST_MEDIANS = 3 * 1.4826;

  /** No error is unexplained up to this: a challenger may have learned half of a change. */
  private static final double LEAST_ERROR = 0.25;

  static ComparedSamples of(Evaluation champion, CandidateModel challenger) {
    return new ComparedSamples(
        champion, Evaluation.of(challenger.model(), challenger.towers(), champion.samples()));
  }

  /**
   * Returns the samples that at least one of the models explains, with an error not far above that
   * of most. A cost that neither explains says nothing of which model is better: most often its
   * label is wrong. A few of them would be most of the mean error of both models, so that no model
   * could be better by a tenth.
   */
  ComparedSamples explained() {
    IntPredicate computations =
        explained(
            champion.computations(),
            challenger.computations(),
            Evaluation.ComputePrediction::error);
    IntPredicate collectives =
        explained(
            champion.collectives(),
            challenger.collectives(),
            Evaluation.CollectivePrediction::error);
    return new ComparedSamples(
        champion.select(computations, collectives), challenger.select(computations, collectives));
  }

  private static <T> IntPredicate explained(List<T> one, List<T> other, ToDoubleFunction<T> error) {
    double[] errors = new double[one.size()];
    for (int i = 0; i < errors.length; i++) {
      errors[i] = Math.min(error.applyAsDouble(one.get(i)), error.applyAsDouble(other.get(i)));
    }
    double most = Math.max(LEAST_ERROR, MOST_MEDIANS * new Median().evaluate(errors));
    return position -> errors[position] <= most;
  }
}
