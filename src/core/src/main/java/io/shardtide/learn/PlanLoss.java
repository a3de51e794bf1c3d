package io.shardtide.learn;

import io.shardtide.cost.Evaluation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;

/**
 * What the plans of a model lose by its errors, estimated from measured costs.
 *
 * <p>A search moves work from one device, or from one collective, to another until both are
 * predicted to be equally long. If the logarithms of measured over predicted cost are r and s, the
 * longer one then exceeds their mean by {@code |r - s| / 2}. The loss is the mean of that over all
 * pairs of measured costs, each weighted by its milliseconds. An error that all costs share loses
 * nothing; one that some costs have loses much.
 *
 * <p>The costs were measured in plans of the champion. The challenger's search would choose others:
 * more of what it predicts to be cheaper. So its costs are weighted by the champion's prediction
 * over its own, clipped (importance sampling: Bottou et al., JMLR 2013, section 4).
 */
final class PlanLoss {
  /** Weights are at most this, and at least one over it. */
  private static final double MAX_IMPORTANCE = 3;

  private final List<Double> measured = new ArrayList<>();
  private final List<Double> championMs = new ArrayList<>();
  private final List<Double> challengerMs = new ArrayList<>();

  /**
   * Computes it from measured costs.
   *
   * @param samples costs that neither model was trained on
   */
  PlanLoss(ComparedSamples samples) {
    Evaluation before = samples.champion();
    Evaluation after = samples.challenger();
    for (int i = 0; i < before.computations().size(); i++) {
      add(
          before.computations().get(i).sample().computeMs(),
          before.computations().get(i).predictedMs(),
          after.computations().get(i).predictedMs());
    }
    for (int i = 0; i < before.collectives().size(); i++) {
      add(
          Arrays.stream(before.collectives().get(i).sample().ms()).average().orElse(0),
          mean(before.collectives().get(i).predictedMs()),
          mean(after.collectives().get(i).predictedMs()));
    }
  }

  private void add(double ms, double champion, double challenger) {
    if (ms > 0 && champion > 0 && challenger > 0) {
      measured.add(ms);
      championMs.add(champion);
      challengerMs.add(challenger);
    }
  }

  private static double mean(List<Double> ms) {
    return ms.stream().mapToDouble(Double::doubleValue).average().orElse(0);
  }

  /** Returns the loss of the champion's plans, as a share of a step; empty without pairs. */
  OptionalDouble ofChampion() {
    return loss(championMs);
  }

  /** Returns the loss of the challenger's plans, likewise. */
  OptionalDouble ofChallenger() {
    return loss(challengerMs);
  }

  private OptionalDouble loss(List<Double> predicted) {
    int size = measured.size();
    double[] residuals = new double[size];
    double[] weights = new double[size];
    for (int i = 0; i < size; i++) {
      residuals[i] = StrictMath.log(measured.get(i) / predicted.get(i));
      double importance = championMs.get(i) / predicted.get(i);
      weights[i] =
          measured.get(i) * Math.max(1 / MAX_IMPORTANCE, Math.min(MAX_IMPORTANCE, importance));
    }
    double sum = 0;
    double pairs = 0;
    for (int i = 0; i < size; i++) {
      for (int j = 0; j < i; j++) {
        sum += weights[i] * weights[j] * Math.abs(residuals[i] - residuals[j]) / 2;
        pairs += weights[i] * weights[j];
      }
    }
    return pairs > 0 ? OptionalDouble.of(sum / pairs) : OptionalDouble.empty();
  }
}
