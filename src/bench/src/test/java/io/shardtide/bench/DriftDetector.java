package io.shardtide.bench;

import io.shardtide.learn.PageHinkley;

/**
 * Detects that the level of a series has changed. Each value takes constant or logarithmic time;
 * memory is bounded. Single-use: create a new detector after an alarm.
 *
 * <p>Values are deviations from the baseline, in the units of {@link PageHinkley}.
 */
interface DriftDetector {
  double ALLOWANCE = PageHinkley.ALLOWANCE;
  double MAX_DEVIATION = PageHinkley.MAX_DEVIATION;

  /** Adds the next deviation; returns whether the level has changed. */
  boolean add(double deviation);
}
