package io.shardtide.learning;

/**
 * Detects that the level of a series has changed. Each value takes constant or logarithmic time;
 * memory is bounded. Single-use: create a new detector after an alarm.
 *
 * <p>Values are deviations from the baseline. {@value #MIN_SHIFT} units are the smallest shift that
 * should raise an alarm; values are clipped to plus or minus {@value #MAX_DEVIATION}. See {@link
 * Calibration}.
 */
public interface DriftDetector {
  /** The smallest shift that should raise an alarm, in units. */
  double MIN_SHIFT = 3;

  /** Deviations are clipped to this, so that a few outliers cannot raise an alarm alone. */
  double MAX_DEVIATION = 5;

  /**
   * Deviations below this do not count towards an alarm, in units. Noise of one unit rarely exceeds
   * it; it is two thirds of the minimum shift.
   */
  double ALLOWANCE = 2;

  /** Adds the next deviation; returns whether the level has changed. */
  boolean add(double deviation);
}
