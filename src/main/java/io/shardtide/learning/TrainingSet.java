package io.shardtide.learning;

import io.shardtide.cost.CostSample;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.CanonicalHash;
import io.shardtide.domain.TrainingPolicy;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * What a model is trained on and judged by. Bounded influence: no source has more than its share
 * ({@link SourceQuota}), and no label says more than its group lets it ({@link ResidualBand}).
 *
 * @param recent what was measured last; after a drift, what was measured since the alarm
 * @param old what was measured before
 * @param sources who measured
 * @param otherBatches samples that were left out because their batches have another size than most
 */
public record TrainingSet(
    WeightedSamples recent, WeightedSamples old, List<String> sources, int otherBatches) {
  /** Copies what may change. */
  public TrainingSet {
    sources = List.copyOf(sources);
  }

  /**
   * Samples right before an alarm, which belong to no part: the drift began somewhere among them.
   * Ten to twenty measurements of four devices are what detectors take.
   */
  private static final int DOUBTFUL = 80;

  /** The share of measurements that is held back. */
  private static final double HELD_BACK = 0.2;

  /**
   * Samples of one time.
   *
   * @param learned what is learned from
   * @param heldBack what models are judged by; no measurement is in both, and no plan, unless most
   *     of what was measured is one plan's
   */
  public record WeightedSamples(SampleSet learned, SampleSet heldBack) {}

  /**
   * Chooses.
   *
   * @param samples samples of one hardware that {@link SampleCheck} lets pass, in the order of the
   *     log, at least one
   * @param driftFrom position of the first sample after an alarm, if there was one; where that is
   *     longer ago than the recent ones, it is as if there was none
   * @param policy how many are recent and old
   * @param champion predicts, to tell wild labels
   */
  public static TrainingSet of(
      List<CostSample> samples,
      OptionalInt driftFrom,
      TrainingPolicy policy,
      CandidateModel champion) {
    int newest = Math.max(0, samples.size() - policy.recent());
    int from = Math.max(newest, driftFrom.orElse(newest));
    int until = from > newest ? Math.max(0, from - DOUBTFUL) : newest;
    List<CostSample> recent = samples.subList(Math.min(from, samples.size()), samples.size());
    List<CostSample> old = SourceQuota.thinned(samples.subList(0, until), policy.old());
    int batchSize = usualBatch(recent.isEmpty() ? samples : recent);
    List<CostSample> recentLike = alike(recent, batchSize);
    List<CostSample> oldLike = alike(old, batchSize);
    TreeSet<String> sources = new TreeSet<>();
    recentLike.forEach(sample -> sources.add(sample.source()));
    oldLike.forEach(sample -> sources.add(sample.source()));
    return new TrainingSet(
        part(SourceQuota.of(recentLike), batchSize, champion),
        part(SourceQuota.of(oldLike), batchSize, champion),
        List.copyOf(sources),
        recent.size() + old.size() - recentLike.size() - oldLike.size());
  }

  private static int usualBatch(List<CostSample> samples) {
    return SampleSets.byBatchSize(samples).entrySet().stream()
        .max(Comparator.comparingInt(entry -> entry.getValue().size()))
        .orElseThrow()
        .getKey();
  }

  private static List<CostSample> alike(List<CostSample> samples, int batchSize) {
    return samples.stream().filter(sample -> sample.batchSize() == batchSize).toList();
  }

  private static WeightedSamples part(
      List<CostSample> samples, int batchSize, CandidateModel champion) {
    Set<String> held = heldBack(samples);
    Winsorizer bands = Winsorizer.of(SampleSets.of(samples, batchSize), champion);
    return new WeightedSamples(
        bands.apply(SampleSets.of(only(samples, held, false), batchSize)),
        bands.apply(SampleSets.of(only(samples, held, true), batchSize)));
  }

  private static List<CostSample> only(List<CostSample> samples, Set<String> held, boolean isHeld) {
    return samples.stream().filter(s -> held.contains(s.measurementId()) == isHeld).toList();
  }

  /** Returns the measurements that are held back: of whole plans, if that leaves half or more. */
  private static Set<String> heldBack(List<CostSample> samples) {
    Set<String> ofPlans = heldBack(samples, CostSample::planId);
    return ofPlans.isEmpty() ? heldBack(samples, CostSample::measurementId) : ofPlans;
  }

  /**
   * Returns the measurements of what is held back: of what has the lowest hashes, so that what was
   * held back once is so again, at least a fifth, and at most half.
   */
  private static Set<String> heldBack(
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
    Set<String> held = new HashSet<>();
    byHash.forEach(
        (hash, group) -> {
          double place = Integer.parseInt(hash.substring(0, 4), 16) / 65_536.0;
          if ((held.size() < HELD_BACK * all.size() || place < HELD_BACK)
              && 2 * (held.size() + group.size()) <= all.size()) {
            held.addAll(group);
          }
        });
    return held;
  }
}
