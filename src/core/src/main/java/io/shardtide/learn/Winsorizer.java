package io.shardtide.learn;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.Evaluation.CollectivePrediction;
import io.shardtide.cost.Evaluation.ComputePrediction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * Winsorizes the labels of a group of samples: clips them to a band around the champion's
 * predictions, one band for computations and one for each collective.
 */
final class Winsorizer {
  private final ResidualBand compute;
  private final Map<String, ResidualBand> collectives = new HashMap<>();

  private Winsorizer(Evaluation group) {
    compute =
        ResidualBand.of(
            group.computations().stream()
                .map(c -> StrictMath.log(c.sample().computeMs() / c.predictedMs()))
                .toList());
    Map<String, List<Double>> residuals = new HashMap<>();
    for (CollectivePrediction one : group.collectives()) {
      List<Double> all = residuals.computeIfAbsent(one.sample().shown(), n -> new ArrayList<>());
      for (int i = 0; i < one.predictedMs().size(); i++) {
        all.add(StrictMath.log(one.sample().ms()[i] / one.predictedMs().get(i)));
      }
    }
    residuals.forEach((name, values) -> collectives.put(name, ResidualBand.of(values)));
  }

  /** Returns the champion's predictions of a group, with winsorized labels. */
  static Evaluation winsorized(Evaluation group) {
    Winsorizer winsorizer = new Winsorizer(group);
    return new Evaluation(
        group.computations().stream().map(c -> c.of(winsorizer.winsorized(c))).toList(),
        group.collectives().stream().map(c -> c.of(winsorizer.winsorized(c))).toList(),
        group.notPredicted());
  }

  /** The forward part keeps its share of the whole. */
  private ComputeSample winsorized(ComputePrediction of) {
    ComputeSample sample = of.sample();
    double ms = compute.winsorize(sample.computeMs(), of.predictedMs());
    return new ComputeSample(
        sample.shards(),
        ms,
        sample.forwardMs().isPresent()
            ? OptionalDouble.of(sample.forwardMs().getAsDouble() / sample.computeMs() * ms)
            : OptionalDouble.empty());
  }

  private CollectiveSample winsorized(CollectivePrediction of) {
    CollectiveSample sample = of.sample();
    ResidualBand band = collectives.get(sample.shown());
    double[] ms = new double[of.predictedMs().size()];
    Arrays.setAll(ms, i -> band.winsorize(sample.ms()[i], of.predictedMs().get(i)));
    return new CollectiveSample(
        sample.collective(),
        sample.direction(),
        sample.devices(),
        sample.devicesPerNode(),
        sample.bytes(),
        ms);
  }
}
