package io.shardtide.learn;

/**
 * Detects that the level of a series has changed. Single-use: create a new detector after an alarm.
 * Values are deviations from the baseline. {@value #MIN_SHIFT} units are the smallest shift that
 * should raise an alarm; values are clipped to plus or minus {@value #MAX_DEVIATION}. See {@link
 * Calibration}.
 *
 * <p>Page-Hinkley test (Hinkley, Biometrika 1971; in the form of Gama et al., ACM Computing Surveys
 * 2014): {@code m = m + x - mean - d}, alarm at {@code m - min(m) > h}, in both directions. The
 * mean is taken over all values so far: unlike a CUSUM, the test tolerates small lasting shifts.
 * The mean is clipped to plus or minus {@value #MAX_MEAN}, so that a slow drift still raises an
 * alarm.
 */
public final class PageHinkley {
  /** Its name in alarms. */
  public static final String NAME = "page-hinkley";

  /** The smallest shift that should raise an alarm, in units. */
  public static final double MIN_SHIFT = 3;

  /** Deviations are clipped to this, so that a few outliers cannot raise an alarm alone. */
  public static final double MAX_DEVIATION = 5;

  /**
   * Deviations below this do not count towards an alarm, in units. Noise of one unit rarely exceeds
   * it; it is two thirds of the minimum shift.
   */
  public static final double ALLOWANCE = 2;

  /**
   * Reached by five consecutive values at the maximum deviation. False alarms are caused by model
   * errors that differ from plan to plan, not by noise: with noise of one unit, a CUSUM with this
   * threshold runs of order exp(2 * 2 * 12), or 10^20 values, to one (Siegmund's approximation).
   */
  private static final double THRESHOLD = 12;

  /** A third of the minimum shift: tolerates the model's error for one plan. */
  private static final double MAX_MEAN = 1;

  /** Starts with the calibration samples, whose mean is about 0. */
  private double count = Calibration.SAMPLES;

  private double mean;
  private double up;
  private double down;

  /** Adds the next deviation; returns whether the level has changed. */
  public boolean add(double deviation) {
    count++;
    mean += (deviation - mean) / count;
    double level = Math.max(-MAX_MEAN, Math.min(MAX_MEAN, mean));
    // m - min(m) is a cumulative sum that restarts at 0 whenever it falls below 0.
    up = Math.max(0, up + (deviation - level) - ALLOWANCE);
    down = Math.max(0, down - (deviation - level) - ALLOWANCE);
    return Math.max(up, down) > THRESHOLD;
  }
}
