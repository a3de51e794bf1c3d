package io.shardtide.learning;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.SampleSet;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.stream.IntStream;

/**
 * Winsorizes the labels of a group of samples: clips them to a band around the champion's
 * predictions, one band for computations and one for each collective. Collectives that the champion
 * does not predict are left out.
 *
 * @param champion predicts the costs
 * @param predictedMs predicted computations of the group, in order
 * @param compute band of computations
 * @param collectives bands by {@link CollectiveSample#shown}
 */
record Winsorizer(
    CandidateModel champion,
    List<Double> predictedMs,
    ResidualBand compute,
    Map<String, ResidualBand> collectives) {

  /** Computes the bands of a group. */
  static Winsorizer of(SampleSet group, CandidateModel champion) {
    Map<String, List<Double>> residuals = new HashMap<>();
    CostEvaluator evaluator = champion.model().evaluator();
    for (CollectiveSample sample : predictable(group, champion)) {
      double[] predicted = evaluator.collectiveMs(sample);
      for (int i = 0; i < predicted.length; i++) {
        residuals
            .computeIfAbsent(sample.shown(), name -> new ArrayList<>())
            .add(StrictMath.log(sample.ms()[i] / predicted[i]));
      }
    }
    Map<String, ResidualBand> bands = new HashMap<>();
    residuals.forEach((name, values) -> bands.put(name, ResidualBand.of(values)));
    List<Evaluation.ComputePrediction> computations =
        Evaluation.ofKnownUse(
                champion.model(), champion.towers(), group.with(group.compute(), List.of()))
            .computations();
    return new Winsorizer(
        champion,
        computations.stream().map(Evaluation.ComputePrediction::predictedMs).toList(),
        ResidualBand.of(
            computations.stream()
                .map(c -> StrictMath.log(c.sample().computeMs() / c.predictedMs()))
                .toList()),
        bands);
  }

  /**
   * Returns samples with winsorized labels.
   *
   * @param samples some samples of the group, in its order
   * @param positions positions of their computations among those of the group
   */
  SampleSet apply(SampleSet samples, int[] positions) {
    CostEvaluator evaluator = champion.model().evaluator();
    List<ComputeSample> computations =
        IntStream.range(0, positions.length)
            .mapToObj(i -> apply(samples.compute().get(i), predictedMs.get(positions[i])))
            .toList();
    return samples.with(
        computations,
        predictable(samples, champion).stream().map(sample -> apply(sample, evaluator)).toList());
  }

  /** The forward part keeps its share of the whole. */
  private ComputeSample apply(ComputeSample sample, double predictedMs) {
    double ms = compute.winsorize(sample.computeMs(), predictedMs);
    return new ComputeSample(
        sample.shards(),
        ms,
        sample.forwardMs().isPresent()
            ? OptionalDouble.of(sample.forwardMs().getAsDouble() / sample.computeMs() * ms)
            : OptionalDouble.empty());
  }

  private CollectiveSample apply(CollectiveSample sample, CostEvaluator evaluator) {
    double[] predicted = evaluator.collectiveMs(sample);
    ResidualBand band = collectives.get(sample.shown());
    double[] ms = new double[predicted.length];
    Arrays.setAll(
        ms, i -> band == null ? sample.ms()[i] : band.winsorize(sample.ms()[i], predicted[i]));
    return new CollectiveSample(
        sample.collective(),
        sample.direction(),
        sample.devices(),
        sample.devicesPerNode(),
        sample.bytes(),
        ms);
  }

  private static List<CollectiveSample> predictable(SampleSet samples, CandidateModel champion) {
    return samples.collectives().stream().filter(champion.model().bundle()::predicts).toList();
  }
}
