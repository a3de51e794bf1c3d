package io.shardtide.learn;

import io.shardtide.cost.CostSample;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.SampleSet;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.workload.CanonicalHash;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.IntPredicate;

/**
 * Samples to retrain and evaluate a model. The influence of bad samples is bounded: each source is
 * limited to a quota ({@link SourceQuota}) and labels are winsorized ({@link ResidualBand}).
 *
 * @param recent recent samples; after a drift, those since the alarm
 * @param old older samples
 * @param sources sources of the samples
 */
public record TrainingSet(SampleSplit recent, SampleSplit old, List<String> sources) {
  /** Copies mutable components. */
  public TrainingSet {
    sources = List.copyOf(sources);
  }

  /**
   * Samples just before an alarm, left out because the drift began somewhere among them: detectors
   * need ten to twenty measurements, here of four devices.
   */
  private static final int TRANSITION = 80;

  /** Minimum share of measurements held out. */
  private static final double HELD_OUT = 0.2;

  /**
   * Training and held-out samples of one period.
   *
   * @param training samples to fit the model to
   * @param heldOut samples to evaluate the model on, as the champion predicts them. They share no
   *     measurement with {@code training}, and no plan unless one plan has most of the measurements
   */
  public record SampleSplit(SampleSet training, Evaluation heldOut) {}

  /**
   * Selects and splits samples.
   *
   * @param samples samples of one hardware in log order, validated by {@link SampleCheck}, at least
   *     one
   * @param driftFrom index of the first sample after an alarm, if there was one; ignored if it lies
   *     before the recent samples
   * @param policy numbers of recent and old samples
   * @param champion predicts the costs to which labels are winsorized
   */
  public static TrainingSet of(
      List<CostSample> samples,
      OptionalInt driftFrom,
      TrainingPolicy policy,
      CandidateModel champion) {
    int newest = Math.max(0, samples.size() - policy.recent());
    int from = Math.max(newest, driftFrom.orElse(newest));
    int until = from > newest ? Math.max(0, from - TRANSITION) : newest;
    List<CostSample> recent = samples.subList(Math.min(from, samples.size()), samples.size());
    List<CostSample> old = SourceQuota.thin(samples.subList(0, until), policy.old());
    TreeSet<String> sources = new TreeSet<>();
    recent.forEach(sample -> sources.add(sample.source()));
    old.forEach(sample -> sources.add(sample.source()));
    return new TrainingSet(
        split(SourceQuota.apply(recent), champion),
        split(SourceQuota.apply(old), champion),
        List.copyOf(sources));
  }

  private static SampleSplit split(List<CostSample> samples, CandidateModel champion) {
    Set<String> heldOut = heldOut(samples);
    List<Boolean> computations = new ArrayList<>();
    List<Boolean> collectives = new ArrayList<>();
    for (CostSample sample : samples) {
      SampleSet one = SampleSet.of(List.of(sample));
      boolean isHeldOut = heldOut.contains(sample.measurementId());
      one.compute().forEach(of -> computations.add(isHeldOut));
      one.collectives().forEach(of -> collectives.add(isHeldOut));
    }
    Evaluation all =
        Winsorizer.winsorized(
            Evaluation.of(champion.model(), champion.towers(), SampleSet.of(samples)));
    IntPredicate ofComputations = computations::get;
    IntPredicate ofCollectives = i -> collectives.get(all.collectives().get(i).number());
    return new SampleSplit(
        all.select(ofComputations.negate(), ofCollectives.negate()).samples(),
        all.select(ofComputations, ofCollectives));
  }

  /** Returns the held-out measurements: those of whole plans, unless one plan has too many. */
  private static Set<String> heldOut(List<CostSample> samples) {
    Set<String> byPlan = heldOut(samples, CostSample::planId);
    return byPlan.isEmpty() ? heldOut(samples, CostSample::measurementId) : byPlan;
  }

  /**
   * Returns the measurements of the groups with the lowest hashes, at least a fifth of all and at
   * most half. A group that is held out in one retraining is held out in the next.
   */
  private static Set<String> heldOut(
      List<CostSample> samples, Function<CostSample, String> groupOf) {
    TreeMap<String, Set<String>> byHash = new TreeMap<>();
    Set<String> all = new HashSet<>();
    for (CostSample sample : samples) {
      all.add(sample.measurementId());
      byHash
          .computeIfAbsent(
              new CanonicalHash("held-back").put(groupOf.apply(sample)).hex(),
              hash -> new HashSet<>())
          .add(sample.measurementId());
    }
    Set<String> heldOut = new HashSet<>();
    byHash.forEach(
        (hash, group) -> {
          double quantile = Integer.parseInt(hash.substring(0, 4), 16) / 65_536.0;
          if ((heldOut.size() < HELD_OUT * all.size() || quantile < HELD_OUT)
              && 2 * (heldOut.size() + group.size()) <= all.size()) {
            heldOut.addAll(group);
          }
        });
    return heldOut;
  }
}
