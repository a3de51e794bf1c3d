package io.shardtide.bench;

/**
 * Two-sided CUSUM (Page, Biometrika 1954): {@code up = max(0, up + x - k)}, {@code down = max(0,
 * down - x - k)}, alarm at {@code max(up, down) > h}, with k = {@value DriftDetector#ALLOWANCE}.
 */
final class Cusum implements DriftDetector {
  /**
   * Reached by five consecutive values at the maximum deviation, or thirteen at the minimum shift.
   * With noise of one unit, the average run length to a false alarm is of order exp(2kh), or 10^20
   * values (Siegmund's approximation).
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
