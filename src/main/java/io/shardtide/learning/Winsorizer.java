package io.shardtide.learning;

import io.shardtide.cost.CommunicationCost;
import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.SampleSet;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * Brings labels into the bands of a group of samples, one for each kind of cost.
 *
 * @param champion says what is predicted
 * @param compute of computations
 * @param forward of forward exchanges without waiting
 * @param backward of backward exchanges
 */
record Winsorizer(
    CandidateModel champion, ResidualBand compute, ResidualBand forward, ResidualBand backward) {

  /** Finds the bands of a group. */
  static Winsorizer of(SampleSet group, CandidateModel champion) {
    List<Double> forward = new ArrayList<>();
    List<Double> backward = new ArrayList<>();
    for (CommunicationSample sample : exchanges(group)) {
      CommunicationCost said = said(champion, group, sample);
      for (int d = 0; d < sample.devices(); d++) {
        forward.add(StrictMath.log(exchangeMs(sample, d) / said.forwardMs()[d]));
        backward.add(StrictMath.log(sample.backwardMs()[d] / said.backwardMs()[d]));
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

  /** Returns samples with their labels in the bands. */
  SampleSet apply(SampleSet samples) {
    List<ComputeSample> computations =
        computations(samples, champion).stream()
            .map(
                c ->
                    new ComputeSample(
                        c.sample().shards(),
                        compute.winsorised(c.sample().computeMs(), c.predictedMs())))
            .toList();
    TreeMap<Integer, List<CommunicationSample>> exchanges = new TreeMap<>();
    for (CommunicationSample sample : exchanges(samples)) {
      exchanges
          .computeIfAbsent(sample.devices(), n -> new ArrayList<>())
          .add(apply(sample, said(champion, samples, sample)));
    }
    return new SampleSet(samples.tables(), samples.batchSize(), computations, exchanges);
  }

  private CommunicationSample apply(CommunicationSample sample, CommunicationCost said) {
    double[] forwardMs = new double[sample.devices()];
    double[] backwardMs = new double[sample.devices()];
    for (int d = 0; d < forwardMs.length; d++) {
      forwardMs[d] =
          sample.waitMs(d) + forward.winsorised(exchangeMs(sample, d), said.forwardMs()[d]);
      backwardMs[d] = backward.winsorised(sample.backwardMs()[d], said.backwardMs()[d]);
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

  private static List<CommunicationSample> exchanges(SampleSet samples) {
    return samples.communication().values().stream()
        .flatMap(List::stream)
        // Devices without columns exchange nothing, and nothing is predicted.
        .filter(sample -> java.util.Arrays.stream(sample.columns()).anyMatch(c -> c > 0))
        .toList();
  }

  private static CommunicationCost said(
      CandidateModel champion, SampleSet samples, CommunicationSample sample) {
    return champion.model().evaluator().allToAll(sample.elements(samples.batchSize()));
  }

  /** Returns the forward exchange without the waiting; above 0 where clocks differ. */
  private static double exchangeMs(CommunicationSample sample, int device) {
    double ms = sample.forwardMs()[device];
    return Math.max(ms / 1000, ms - sample.waitMs(device));
  }
}
