package io.shardtide.learning;

import io.shardtide.cost.CommunicationCost;
import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.SampleSet;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;

/**
 * Winsorizes the labels of a group of samples: clips them to a band around the champion's
 * predictions, one band for each kind of cost.
 *
 * @param champion predicts the costs
 * @param compute band of computations
 * @param forward band of forward all-to-alls, without idle time
 * @param backward band of backward all-to-alls
 */
record Winsorizer(
    CandidateModel champion, ResidualBand compute, ResidualBand forward, ResidualBand backward) {

  /** Computes the bands of a group. */
  static Winsorizer of(SampleSet group, CandidateModel champion) {
    List<Double> forward = new ArrayList<>();
    List<Double> backward = new ArrayList<>();
    for (CommunicationSample sample : allToAlls(group)) {
      CommunicationCost predicted = predict(champion, group, sample);
      for (int d = 0; d < sample.devices(); d++) {
        forward.add(StrictMath.log(transferMs(sample, d) / predicted.forwardMs()[d]));
        backward.add(StrictMath.log(sample.backwardMs()[d] / predicted.backwardMs()[d]));
      }
    }
    return new Winsorizer(
        champion,
        ResidualBand.of(
            computations(group, champion).stream()
                .map(c -> StrictMath.log(c.sample().computeMs() / c.predictedMs()))
                .toList()),
        ResidualBand.of(forward),
        ResidualBand.of(backward));
  }

  /** Returns samples with winsorized labels. */
  SampleSet apply(SampleSet samples) {
    List<ComputeSample> computations =
        computations(samples, champion).stream()
            .map(
                c ->
                    new ComputeSample(
                        c.sample().shards(),
                        compute.winsorize(c.sample().computeMs(), c.predictedMs())))
            .toList();
    TreeMap<Integer, List<CommunicationSample>> allToAlls = new TreeMap<>();
    for (CommunicationSample sample : allToAlls(samples)) {
      allToAlls
          .computeIfAbsent(sample.devices(), n -> new ArrayList<>())
          .add(apply(sample, predict(champion, samples, sample)));
    }
    return new SampleSet(samples.tables(), samples.batchSize(), computations, allToAlls);
  }

  private CommunicationSample apply(CommunicationSample sample, CommunicationCost predicted) {
    double[] forwardMs = new double[sample.devices()];
    double[] backwardMs = new double[sample.devices()];
    for (int d = 0; d < forwardMs.length; d++) {
      forwardMs[d] =
          sample.waitMs(d) + forward.winsorize(transferMs(sample, d), predicted.forwardMs()[d]);
      backwardMs[d] = backward.winsorize(sample.backwardMs()[d], predicted.backwardMs()[d]);
    }
    return new CommunicationSample(sample.columns(), sample.startMs(), forwardMs, backwardMs);
  }

  private static List<Evaluation.ComputePrediction> computations(
      SampleSet samples, CandidateModel champion) {
    return Evaluation.of(
            champion.model(),
            champion.towers(),
            new SampleSet(
                samples.tables(), samples.batchSize(), samples.compute(), new TreeMap<>()))
        .computations();
  }

  private static List<CommunicationSample> allToAlls(SampleSet samples) {
    return samples.communication().values().stream()
        .flatMap(List::stream)
        // Without columns nothing is transferred, and the predicted cost is 0.
        .filter(sample -> Arrays.stream(sample.columns()).anyMatch(c -> c > 0))
        .toList();
  }

  private static CommunicationCost predict(
      CandidateModel champion, SampleSet samples, CommunicationSample sample) {
    return champion.model().evaluator().allToAll(sample.elements(samples.batchSize()));
  }

  /**
   * Returns the forward all-to-all without idle time, in milliseconds; at least a thousandth of the
   * whole, since the clocks of devices may differ.
   */
  private static double transferMs(CommunicationSample sample, int device) {
    double ms = sample.forwardMs()[device];
    return Math.max(ms / 1000, ms - sample.waitMs(device));
  }
}
