package io.shardtide.cost;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;
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
   */
  public record Compute(int samples, double mape, double p99RelativeError, double kendall) {}

  /**
   * Errors of all-to-alls, a mean over all devices of all samples.
   *
   * @param samples number of samples
   * @param forwardMape mean absolute relative error of the forward all-to-all, idle time included
   * @param backwardMape mean absolute relative error of the backward all-to-all
   */
  public record Communication(int samples, double forwardMape, double backwardMape) {}

  /** Returns the accuracy of computations. */
  public static Compute ofComputations(List<Evaluation.ComputePrediction> computations) {
    return of(
        computations,
        Evaluation.ComputePrediction::predictedMs,
        Evaluation.ComputePrediction::error);
  }

  /** Returns the accuracy of computations without reuse histograms. */
  public static Compute withoutReuse(List<Evaluation.ComputePrediction> computations) {
    return of(
        computations,
        Evaluation.ComputePrediction::withoutReuseMs,
        Evaluation.ComputePrediction::withoutReuseError);
  }

  private static Compute of(
      List<Evaluation.ComputePrediction> computations,
      ToDoubleFunction<Evaluation.ComputePrediction> predicted,
      ToDoubleFunction<Evaluation.ComputePrediction> error) {
    int count = computations.size();
    double[] errors = computations.stream().mapToDouble(error).sorted().toArray();
    double p99 = count == 0 ? 0 : errors[(int) Math.ceil(0.99 * count) - 1];
    double kendall =
        count < 2
            ? 1
            : new KendallsCorrelation()
                .correlation(
                    computations.stream().mapToDouble(predicted).toArray(),
                    computations.stream().mapToDouble(c -> c.sample().computeMs()).toArray());
    return new Compute(count, Arrays.stream(errors).average().orElse(0), p99, kendall);
  }

  /** Returns the accuracy of all-to-alls. */
  public static Communication ofAllToAlls(List<Evaluation.CommunicationPrediction> allToAlls) {
    return new Communication(
        allToAlls.size(),
        weighted(allToAlls, Evaluation.CommunicationPrediction::forwardError),
        weighted(allToAlls, Evaluation.CommunicationPrediction::backwardError));
  }

  private static double weighted(
      List<Evaluation.CommunicationPrediction> allToAlls,
      ToDoubleFunction<Evaluation.CommunicationPrediction> error) {
    double sum = 0;
    double devices = 0;
    for (Evaluation.CommunicationPrediction allToAll : allToAlls) {
      sum += allToAll.sample().devices() * error.applyAsDouble(allToAll);
      devices += allToAll.sample().devices();
    }
    return devices == 0 ? 0 : sum / devices;
  }
}
