package io.shardtide.bench;

/**
 * Exponentially weighted moving average (Roberts, Technometrics 1959): {@code e = e + w (x - e)},
 * alarm at {@code |e| > }{@value DriftDetector#ALLOWANCE}.
 */
final class Ewma implements DriftDetector {
  /** Within the range of 0.05 to 0.25 that Montgomery's textbook gives for small shifts. */
  private static final double WEIGHT = 0.1;

  private double mean;

  @Override
  public boolean add(double deviation) {
    mean += WEIGHT * (deviation - mean);
    return Math.abs(mean) > ALLOWANCE;
  }
}
