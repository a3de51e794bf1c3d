package io.shardtide.workload;

/**
 * How ids repeat within a rank's batch: of the lookups of some consecutive samples, how many are of
 * distinct ids.
 *
 * @param samples samples of a rank, at least 1
 * @param share distinct ids over lookups, above 0 and at most 1
 */
public record DistinctShare(int samples, double share) {
  /**
   * @throws RejectedException if a value is outside its range
   */
  public DistinctShare {
    Limits.of(RejectionReason.INVALID_DISTINCT_SHARE, "a distinct share")
        .atLeast("samples", samples, 1)
        .above("share", share, 0, 1);
  }
}
