package io.shardtide.cost;

import io.shardtide.cost.Evaluation.CollectivePrediction;
import io.shardtide.cost.Evaluation.ComputePrediction;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Function;
import org.hipparchus.stat.correlation.KendallsCorrelation;

/**
 * Accuracy of a model on samples. Errors are fractions of the measured value: 0.029 is 2.9%.
 *
 * @param samples number of samples
 * @param mape mean absolute relative error, 0 for no samples; of a collective, over the devices of
 *     a sample, then over samples
 * @param p99RelativeError 99th percentile of the absolute relative error, of collectives over all
 *     devices of all samples
 * @param kendall Kendall's tau-b between predicted and measured, 1 when all pairs are in order;
 *     empty of collectives
 * @param forwardMape of computations, mean absolute relative error of the forward part; empty if no
 *     sample tells it, or the model does not
 * @param backwardMape the same of the backward part
 */
public record Accuracy(
    int samples,
    double mape,
    double p99RelativeError,
    OptionalDouble kendall,
    OptionalDouble forwardMape,
    OptionalDouble backwardMape) {

  /** Returns the accuracy of computations. */
  public static Accuracy ofComputations(List<ComputePrediction> computations) {
    double[] predictions =
        computations.stream().mapToDouble(ComputePrediction::predictedMs).toArray();
    double[] measured = computations.stream().mapToDouble(c -> c.sample().computeMs()).toArray();
    double[] errors = computations.stream().mapToDouble(ComputePrediction::error).toArray();
    return new Accuracy(
        errors.length,
        Arrays.stream(errors).average().orElse(0),
        p99(errors),
        OptionalDouble.of(
            errors.length < 2 ? 1 : new KendallsCorrelation().correlation(predictions, measured)),
        mean(computations, ComputePrediction::forwardError),
        mean(computations, ComputePrediction::backwardError));
  }

  private static OptionalDouble mean(
      List<ComputePrediction> computations, Function<ComputePrediction, OptionalDouble> error) {
    return computations.stream()
        .map(error)
        .filter(OptionalDouble::isPresent)
        .mapToDouble(OptionalDouble::getAsDouble)
        .average();
  }

  private static double p99(double[] errors) {
    double[] sorted = errors.clone();
    Arrays.sort(sorted);
    return sorted.length == 0 ? 0 : sorted[(int) Math.ceil(0.99 * sorted.length) - 1];
  }

  /** Returns the accuracy of collectives. */
  public static Accuracy ofCollectives(List<CollectivePrediction> collectives) {
    return new Accuracy(
        collectives.size(),
        collectives.stream().mapToDouble(CollectivePrediction::error).average().orElse(0),
        p99(collectives.stream().flatMapToDouble(CollectivePrediction::errors).toArray()),
        OptionalDouble.empty(),
        OptionalDouble.empty(),
        OptionalDouble.empty());
  }
}
