package io.shardtide.workload;

import java.util.List;

/**
 * How often a batch uses the rows that it touches: entry {@code k} is the share of these rows that
 * are used more than {@code 2^(k-1)} and at most {@code 2^k} times, entry 0 the share used once.
 * This is the layout of NeuroShard's {@code bin_0} to {@code bin_16} (Zha et al., MLSys 2023,
 * section 3.1).
 *
 * @param shares 17 fractions that sum to 1, or none when the histogram is unknown
 */
public record ReuseHistogram(List<Double> shares) {
  /** Number of shares of a known histogram. */
  public static final int SIZE = 17;

  /** Rounding each share to three digits changes the sum by up to this much. */
  private static final double SUM_TOLERANCE = 0.01;

  /** The histogram of a table whose use is unknown. */
  public static final ReuseHistogram UNKNOWN = new ReuseHistogram(List.of());

  /**
   * @throws RejectedException if the shares are neither 0 nor 17 fractions that sum to 1
   */
  public ReuseHistogram {
    if (!shares.isEmpty() && shares.size() != SIZE) {
      throw rejected("%s shares".formatted(shares.size()));
    }
    double sum = 0;
    for (double share : shares) {
      if (!(share >= 0 && share <= 1)) {
        throw rejected("the share " + share);
      }
      sum += share;
    }
    if (!shares.isEmpty() && Math.abs(sum - 1) > SUM_TOLERANCE) {
      throw rejected("shares that sum to " + sum);
    }
    shares = List.copyOf(shares);
  }

  /** Returns whether the histogram is known. */
  public boolean isKnown() {
    return !shares.isEmpty();
  }

  private static RejectedException rejected(String flaw) {
    return RejectionReason.INVALID_REUSE_HISTOGRAM.failure(
        "reuse histogram must have %s shares between 0 and 1 that sum to 1, or none if unknown, got %s"
            .formatted(SIZE, flaw));
  }
}
