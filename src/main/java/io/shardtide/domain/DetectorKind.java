package io.shardtide.domain;

import java.util.Arrays;
import java.util.List;

/** The ways to notice that a level has changed; {@code learning} has what each does. */
public enum DetectorKind {
  /** The median of the latest deviations leaves a band. */
  MEDIAN_BAND("median-band"),
  /** An exponentially weighted mean leaves a band. */
  EWMA("ewma"),
  /** A cumulated sum of what is above an allowance. */
  CUSUM("cusum"),
  /** A cumulated sum around the mean so far. */
  PAGE_HINKLEY("page-hinkley"),
  /** A window that is cut where its halves differ. */
  ADWIN("adwin");

  /** What measured best for its cost; see RATIONALE.md of {@code learning}. */
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
   * Returns the detector of a name.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static DetectorKind of(String key) {
    return Arrays.stream(values())
        .filter(kind -> kind.key.equals(key))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "There is no detector %s; legal are %s"
                        .formatted(Names.quote(key), String.join(", ", keys()))));
  }
}
