package io.shardtide.learning;

import io.shardtide.domain.DetectorKind;

/** Creates drift detectors. */
public final class Detectors {
  private Detectors() {}

  /** Returns a new detector, with no values added. */
  public static DriftDetector create(DetectorKind kind) {
    return switch (kind) {
      case MEDIAN_BAND -> new MedianBand();
      case EWMA -> new Ewma();
      case CUSUM -> new Cusum();
      case PAGE_HINKLEY -> new PageHinkley();
      case ADWIN -> new Adwin();
    };
  }
}
