package io.shardtide.cost;

import io.shardtide.cost.Evaluation.CollectivePrediction;
import io.shardtide.cost.Evaluation.ComputePrediction;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Function;
import org.hipparchus.stat.correlation.KendallsCorrelation;

/** Accuracy of a model. Errors are fractions of the measured value: 0.029 is 2.9%. */
public final class Accuracy {
  private Accuracy() {}

  /**
   * Errors of computations.
   *
   * @param samples number of samples
   * @param mape mean absolute relative error, 0 for no samples
   * @param p99RelativeError 99th percentile of the absolute relative error
   * @param kendall Kendall's tau-b between predicted and measured, 1 when all pairs are in order
   * @param forwardMape mean absolute relative error of the forward part; empty if no sample tells
   *     it, or the model does not
   * @param backwardMape the same of the backward part
   */
  public record Compute(
      int samples,
      double mape,
      double p99RelativeError,
      double kendall,
      OptionalDouble forwardMape,
      OptionalDouble backwardMape) {}

  /**
   * Errors of collectives.
   *
   * @param samples number of samples
   * @param mape mean absolute relative error: over the devices of a sample, then over samples
   * @param p99RelativeError 99th percentile of the errors of all devices of all samples
   */
  public record Collectives(int samples, double mape, double p99RelativeError) {}

  /** Returns the accuracy of computations. */
  public static Compute ofComputations(List<ComputePrediction> computations) {
    return of(
        computations,
        mean(computations, ComputePrediction::forwardError),
        mean(computations, ComputePrediction::backwardError));
  }

  /** Returns the accuracy of computations without that of their parts. */
  public static Compute ofSums(List<ComputePrediction> computations) {
    return of(computations, OptionalDouble.empty(), OptionalDouble.empty());
  }

  private static OptionalDouble mean(
      List<ComputePrediction> computations, Function<ComputePrediction, OptionalDouble> error) {
    return computations.stream()
        .map(error)
        .filter(OptionalDouble::isPresent)
        .mapToDouble(OptionalDouble::getAsDouble)
        .average();
  }

  private static Compute of(
      List<ComputePrediction> computations,
      OptionalDouble forwardMape,
      OptionalDouble backwardMape) {
    int count = computations.size();
    double[] predictions =
        computations.stream().mapToDouble(ComputePrediction::predictedMs).toArray();
    double[] measured = computations.stream().mapToDouble(c -> c.sample().computeMs()).toArray();
    double[] errors = new double[count];
    Arrays.setAll(errors, i -> Math.abs(predictions[i] - measured[i]) / measured[i]);
    double mape = Arrays.stream(errors).average().orElse(0);
    double kendall = count < 2 ? 1 : new KendallsCorrelation().correlation(predictions, measured);
    return new Compute(count, mape, p99(errors), kendall, forwardMape, backwardMape);
  }

  private static double p99(double[] errors) {
    double[] sorted = errors.clone();
    Arrays.sort(sorted);
    return sorted.length == 0 ? 0 : sorted[(int) Math.ceil(0.99 * sorted.length) - 1];
  }

  /** Returns the accuracy of collectives. */
  public static Collectives ofCollectives(List<CollectivePrediction> collectives) {
    return new Collectives(
        collectives.size(),
        collectives.stream().mapToDouble(CollectivePrediction::error).average().orElse(0),
        p99(collectives.stream().flatMapToDouble(CollectivePrediction::errors).toArray()));
  }
}
