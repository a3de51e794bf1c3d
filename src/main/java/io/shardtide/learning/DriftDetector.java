package io.shardtide.learning;

/**
 * Notices that the level of a series has changed. Takes each value in constant or logarithmic time
 * and remembers a bounded number of them. Serves one alarm: who wants to go on begins with another.
 *
 * <p>Values are deviations from the usual level in units of which {@value #LEAST_SHIFT} are the
 * least shift worth an alarm, cut at {@value #LIMIT}; see {@link Calibration}.
 */
public interface DriftDetector {
  /** The least shift worth an alarm, in units. */
  double LEAST_SHIFT = 3;

  /**
   * No deviation counts more, so that a few values cannot raise an alarm alone, whatever they are.
   */
  double LIMIT = 5;

  /**
   * Where shifts begin to count, in units: noise of one unit that is on this side is common, and
   * two thirds of the least shift are on that side.
   */
  double ALLOWANCE = 2;

  /** Takes the next deviation; returns whether the level has changed. */
  boolean add(double deviation);
}
