package io.shardtide.learning;

import io.shardtide.domain.DetectorKind;

/** The catalogue of detectors. */
public final class Detectors {
  private Detectors() {}

  /** Returns a detector that has seen nothing. */
  public static DriftDetector begin(DetectorKind kind) {
    return switch (kind) {
      case MEDIAN_BAND -> new MedianBand();
      case EWMA -> new Ewma();
      case CUSUM -> new Cusum();
      case PAGE_HINKLEY -> new PageHinkley();
      case ADWIN -> new Adwin();
    };
  }
}
