package io.shardtide.learn;

import io.shardtide.cost.CostSample;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/** Limits the share of each source in the training samples. */
final class SourceQuota {
  /** The quota is not smaller than this, however many sources there are. */
  private static final double MIN_QUOTA = 1.0 / 3;

  /**
   * A source with a smaller share of the samples is not counted when the quota is computed, though
   * its samples are used: otherwise a trainer that just started would reduce the others to as few
   * samples as it has.
   */
  private static final double MIN_COUNTED_SHARE = 0.1;

  /** Tolerance of the comparison with the quota: a third of 300 may round to slightly below 100. */
  private static final double ROUNDING = 1e-6;

  private SourceQuota() {}

  /**
   * Thins out the samples of large sources, evenly from first to last, so that no source has more
   * than {@code max(1/3, 1 / sources)} of the result.
   */
  static List<CostSample> apply(List<CostSample> samples) {
    Map<String, Integer> counts = new TreeMap<>();
    samples.forEach(sample -> counts.merge(sample.source(), 1, Integer::sum));
    long sources =
        counts.values().stream().filter(n -> n >= MIN_COUNTED_SHARE * samples.size()).count();
    double quota = Math.max(MIN_QUOTA, 1.0 / Math.max(1, sources));
    int limit = counts.values().stream().mapToInt(Integer::intValue).max().orElse(0);
    while (limit > 1 && limit > quota * total(counts, limit) + ROUNDING) {
      limit--;
    }
    return kept(samples, CostSample::source, limit);
  }

  private static long total(Map<String, Integer> counts, int limit) {
    return counts.values().stream().mapToLong(n -> Math.min(n, limit)).sum();
  }

  /** Returns at most {@code limit} samples, chosen evenly from first to last. */
  static List<CostSample> thin(List<CostSample> samples, int limit) {
    return kept(samples, sample -> "", limit);
  }

  /** Returns at most {@code limit} samples of each group, chosen evenly from first to last. */
  private static List<CostSample> kept(
      List<CostSample> samples, Function<CostSample, String> group, int limit) {
    Map<String, Integer> counts = new HashMap<>();
    samples.forEach(sample -> counts.merge(group.apply(sample), 1, Integer::sum));
    List<CostSample> kept = new ArrayList<>();
    Map<String, Integer> seen = new HashMap<>();
    for (CostSample sample : samples) {
      int count = counts.get(group.apply(sample));
      long index = seen.merge(group.apply(sample), 1, Integer::sum);
      if (count <= limit || index * limit / count > (index - 1) * limit / count) {
        kept.add(sample);
      }
    }
    return kept;
  }
}
