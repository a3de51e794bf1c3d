package io.shardtide.learning;

/**
 * Page-Hinkley test (Hinkley, Biometrika 1971; in the form of Gama et al., ACM Computing Surveys
 * 2014): {@code m = m + x - mean - d}, alarm at {@code m - min(m) > h}, in both directions. The
 * mean is taken over all values so far: unlike {@link Cusum}, the test tolerates small lasting
 * shifts. The mean is clipped to plus or minus {@value #MAX_MEAN}, so that a slow drift still
 * raises an alarm.
 */
final class PageHinkley implements DriftDetector {
  /** Equal to the threshold of {@link Cusum}. */
  private static final double THRESHOLD = 12;

  /** A third of the minimum shift: tolerates the model's error for one plan. */
  private static final double MAX_MEAN = 1;

  /** Starts with the calibration samples, whose mean is about 0. */
  private double count = Calibration.SAMPLES;

  private double mean;
  private double up;
  private double down;

  @Override
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
