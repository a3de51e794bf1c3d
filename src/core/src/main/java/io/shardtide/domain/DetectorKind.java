package io.shardtide.domain;

/** Change detectors; {@code learning} implements them. */
public enum DetectorKind implements Named {
  /** The median of the latest deviations leaves a band. */
  MEDIAN_BAND,
  /** An exponentially weighted mean leaves a band. */
  EWMA,
  /** A cumulative sum of deviations above an allowance. */
  CUSUM,
  /** A cumulative sum of deviations from the mean so far. */
  PAGE_HINKLEY,
  /** An adaptive window that is cut where its parts differ. */
  ADWIN;

  /** The best in measurements; see RATIONALE.md of {@code learning}. */
  public static final DetectorKind DEFAULT = PAGE_HINKLEY;

  @Override
  public String label() {
    return Named.super.label().replace('_', '-');
  }
}
