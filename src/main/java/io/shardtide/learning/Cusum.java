package io.shardtide.learning;

/**
 * Two cumulated sums (Page, Biometrika 1954): {@code up = max(0, up + x - k)}, {@code down = max(0,
 * down - x - k)}, alarm at {@code max(up, down) > h}, with k = {@value DriftDetector#ALLOWANCE}.
 */
final class Cusum implements DriftDetector {
  /**
   * Five values at the limit in a row, or thirteen that are the least shift. At noise of one unit
   * the mean run without an alarm is of the order exp(2kh), 10^20 values (Siegmund's
   * approximation): what raises false alarms is not noise but a model that is off by something else
   * with each plan.
   */
  private static final double THRESHOLD = 12;

  private double up;
  private double down;

  @Override
  public boolean add(double deviation) {
    up = Math.max(0, up + deviation - ALLOWANCE);
    down = Math.max(0, down - deviation - ALLOWANCE);
    return Math.max(up, down) > THRESHOLD;
  }
}
