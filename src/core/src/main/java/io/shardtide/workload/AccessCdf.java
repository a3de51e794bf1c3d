package io.shardtide.workload;

import java.util.ArrayList;
import java.util.List;

/**
 * How lookups spread over the rows of a table: entry {@code k} is the share of all lookups that
 * fall on the {@code 4^k} most used rows, as long as {@code 4^k} is less than the number of rows;
 * the last entry, of all rows, is 1. It does not depend on the batch, unlike a {@link
 * ReuseHistogram}: distinct rows of any batch, the hit rate of a cache of any size, and splits by
 * use follow from it.
 *
 * @param shares shares of the lookups, above 0, never falling, the last one 1; or none when unknown
 */
public record AccessCdf(List<Double> shares) {
  /** The next entry counts this many times as many rows. */
  public static final int FACTOR = 4;

  /** Tolerance of the last share: each is written with a few digits. */
  private static final double TOLERANCE = 1e-4;

  /** The distribution of a table whose use is unknown. */
  public static final AccessCdf UNKNOWN = new AccessCdf(List.of());

  /**
   * @throws RejectedException if a share is not above 0, is less than the one before it, or the
   *     last one is not 1
   */
  public AccessCdf {
    shares = List.copyOf(shares);
    double before = 0;
    for (int k = 0; k < shares.size(); k++) {
      double share = shares.get(k);
      if (!(share > 0 && share <= 1 + TOLERANCE)) {
        throw rejected("must be above 0 and at most 1", k, share);
      }
      if (share < before) {
        throw rejected("must be at least %s, the one before".formatted(before), k, share);
      }
      before = share;
    }
    if (!shares.isEmpty() && Math.abs(before - 1) > TOLERANCE) {
      throw rejected("must be 1, as all rows have all lookups", shares.size() - 1, before);
    }
  }

  /** Returns whether the distribution is known. */
  public boolean isKnown() {
    return !shares.isEmpty();
  }

  /** Returns how many entries a known distribution of a table with so many rows has. */
  public static int size(long rows) {
    int size = 1;
    for (long ranked = 1; ranked < rows; ranked *= FACTOR) {
      size++;
    }
    return size;
  }

  /**
   * Returns the distribution of a table whose number of rows changes, while its lookups spread over
   * the same most used rows: entries are left out, or are those of all lookups.
   *
   * @param rows the new number of rows, at least 1
   */
  AccessCdf resized(long rows) {
    if (!isKnown()) {
      return this;
    }
    int size = size(rows);
    double all = shares.get(shares.size() - 1);
    List<Double> resized = new ArrayList<>(shares.subList(0, Math.min(size, shares.size()) - 1));
    while (resized.size() < size) {
      resized.add(all);
    }
    return new AccessCdf(resized);
  }

  private static RejectedException rejected(String expected, int entry, double share) {
    return RejectionReason.INVALID_ACCESS_CDF.failure(
        "entry %s of an access CDF %s, got %s".formatted(entry, expected, share));
  }
}
