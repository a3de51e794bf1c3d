package io.shardtide.domain;

import java.util.Arrays;
import java.util.List;

/** Change detectors; {@code learning} implements them. */
public enum DetectorKind {
  /** The median of the latest deviations leaves a band. */
  MEDIAN_BAND("median-band"),
  /** An exponentially weighted mean leaves a band. */
  EWMA("ewma"),
  /** A cumulative sum of deviations above an allowance. */
  CUSUM("cusum"),
  /** A cumulative sum of deviations from the mean so far. */
  PAGE_HINKLEY("page-hinkley"),
  /** An adaptive window that is cut where its parts differ. */
  ADWIN("adwin");

  /** The best in measurements; see RATIONALE.md of {@code learning}. */
  public static final DetectorKind DEFAULT = PAGE_HINKLEY;

  private final String key;

  DetectorKind(String key) {
    this.key = key;
  }

  /** Returns the name in settings and alarms. */
  public String key() {
    return key;
  }

  /** Returns all names. */
  public static List<String> keys() {
    return Arrays.stream(values()).map(DetectorKind::key).toList();
  }

  /**
   * Returns the detector with a name.
   *
   * @throws IllegalArgumentException if no detector has the name
   */
  public static DetectorKind of(String key) {
    return Arrays.stream(values())
        .filter(kind -> kind.key.equals(key))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "detector must be one of %s, got %s"
                        .formatted(String.join(", ", keys()), Names.quote(key))));
  }
}
