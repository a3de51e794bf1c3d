package io.shardtide.learning;

import io.shardtide.cost.Evaluation;
import io.shardtide.cost.SampleSet;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.hipparchus.stat.descriptive.rank.Median;

/**
 * The samples that at least one of two models explains. A cost that neither explains says nothing
 * of which model is better: most often its label is wrong. A few of them would be most of the mean
 * error of both models, so that no model could be better by a tenth.
 */
final class ExplainedSamples {
  /** Larger than three standard deviations of normal errors, of which the median is 0.67. */
  private static final double MOST_MEDIANS = 3 * 1.4826;

  /** No error is unexplained up to this: a challenger may have learned half of a change. */
  private static final double LEAST_ERROR = 0.25;

  private ExplainedSamples() {}

  /** Returns the samples whose lower error is not far above that of most. */
  static SampleSet of(SampleSet samples, CandidateModel one, CandidateModel other) {
    Evaluation first = Evaluation.of(one.model(), one.towers(), samples);
    Evaluation second = Evaluation.of(other.model(), other.towers(), samples);
    return samples.with(
        explained(
            first.computations().stream().map(Evaluation.ComputePrediction::sample).toList(),
            first.computations().stream().mapToDouble(Evaluation.ComputePrediction::error),
            second.computations().stream().mapToDouble(Evaluation.ComputePrediction::error)),
        explained(
            first.collectives().stream().map(Evaluation.CollectivePrediction::sample).toList(),
            first.collectives().stream().mapToDouble(Evaluation.CollectivePrediction::error),
            second.collectives().stream().mapToDouble(Evaluation.CollectivePrediction::error)));
  }

  private static <T> List<T> explained(List<T> samples, DoubleStream one, DoubleStream other) {
    double[] errors = one.toArray();
    double[] others = other.toArray();
    for (int i = 0; i < errors.length; i++) {
      errors[i] = Math.min(errors[i], others[i]);
    }
    double most = Math.max(LEAST_ERROR, MOST_MEDIANS * new Median().evaluate(errors));
    return IntStream.range(0, samples.size())
        .filter(i -> errors[i] <= most)
        .mapToObj(samples::get)
        .toList();
  }
}
