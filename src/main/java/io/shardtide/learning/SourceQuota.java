package io.shardtide.learning;

import io.shardtide.cost.CostSample;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Lets no source have more than its share of what is learned from. */
final class SourceQuota {
  /**
   * However many sources there are, one may have this share: less would throw good samples away.
   */
  private static final double LEAST = 1.0 / 3;

  /**
   * A source with less than this share of the samples does not count as one of the sources, though
   * its samples are used: otherwise a trainer that just began would leave the others with as little
   * as it has.
   */
  private static final double BEGINNER = 0.1;

  /** A third of 300 may come out a little below 100. */
  private static final double ROUNDING = 1e-6;

  private SourceQuota() {}

  /**
   * Returns the samples without those that are more than a source's share, {@code max(1/3, 1 /
   * sources)} of what is returned; of each source evenly from first to last.
   */
  static List<CostSample> of(List<CostSample> samples) {
    Map<String, Integer> counts = new TreeMap<>();
    samples.forEach(sample -> counts.merge(sample.source(), 1, Integer::sum));
    long sources = counts.values().stream().filter(n -> n >= BEGINNER * samples.size()).count();
    double share = Math.max(LEAST, 1.0 / Math.max(1, sources));
    int limit = counts.values().stream().mapToInt(Integer::intValue).max().orElse(0);
    while (limit > 1 && limit > share * total(counts, limit) + ROUNDING) {
      limit--;
    }
    List<CostSample> kept = new ArrayList<>();
    Map<String, Integer> seen = new TreeMap<>();
    for (CostSample sample : samples) {
      int position = seen.merge(sample.source(), 1, Integer::sum) - 1;
      if (isKept(position, counts.get(sample.source()), limit)) {
        kept.add(sample);
      }
    }
    return kept;
  }

  private static long total(Map<String, Integer> counts, int limit) {
    return counts.values().stream().mapToLong(n -> Math.min(n, limit)).sum();
  }

  /** Returns the samples, or so many of them, evenly from first to last. */
  static List<CostSample> thinned(List<CostSample> samples, int most) {
    List<CostSample> kept = new ArrayList<>();
    for (int i = 0; i < samples.size(); i++) {
      if (isKept(i, samples.size(), most)) {
        kept.add(samples.get(i));
      }
    }
    return kept;
  }

  /** Returns whether the sample at a position is among {@code most} of {@code count}. */
  private static boolean isKept(int position, int count, int most) {
    return count <= most || (long) (position + 1) * most / count > (long) position * most / count;
  }
}
