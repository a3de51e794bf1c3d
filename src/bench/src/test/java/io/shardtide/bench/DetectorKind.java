package io.shardtide.bench;

import io.shardtide.learn.PageHinkley;

/** The drift detectors that are compared. */
enum DetectorKind {
  /** The median of the latest deviations leaves a band. */
  MEDIAN_BAND("median-band"),
  /** An exponentially weighted mean leaves a band. */
  EWMA("ewma"),
  /** A cumulative sum of deviations above an allowance. */
  CUSUM("cusum"),
  /** A cumulative sum of deviations from the mean so far: the planner's. */
  PAGE_HINKLEY(PageHinkley.NAME),
  /** An adaptive window that is cut where its parts differ. */
  ADWIN("adwin");

  private final String key;

  DetectorKind(String key) {
    this.key = key;
  }

  /** Returns the name for people. */
  String key() {
    return key;
  }

  /** Returns a new detector, with no values added. */
  DriftDetector create() {
    return switch (this) {
      case MEDIAN_BAND -> new MedianBand();
      case EWMA -> new Ewma();
      case CUSUM -> new Cusum();
      case PAGE_HINKLEY -> new PageHinkley()::add;
      case ADWIN -> new Adwin();
    };
  }
}
