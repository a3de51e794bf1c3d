package io.shardtide.learning;

/**
 * Page-Hinkley's test (Hinkley, Biometrika 1971; in this form Gama et al., ACM Computing Surveys
 * 2014): {@code m = m + x - mean - d}, alarm at {@code m - min(m) > h}, and likewise downwards. The
 * mean is of all values so far, so that unlike {@link Cusum} it follows what changes slowly; but no
 * further than {@value #FARTHEST} from the usual level, since a level that goes away slowly does go
 * away.
 */
final class PageHinkley implements DriftDetector {
  /** As of {@link Cusum}, with which it is compared. */
  private static final double THRESHOLD = 12;

  /** A third of the least shift: what a plan's own error may be, and not what is worth an alarm. */
  private static final double FARTHEST = 1;

  /** The values that the usual level was learned from: their mean is about 0. */
  private double count = Calibration.SAMPLES;

  private double mean;
  private double up;
  private double down;

  @Override
  public boolean add(double deviation) {
    count++;
    mean += (deviation - mean) / count;
    double level = Math.max(-FARTHEST, Math.min(FARTHEST, mean));
    // A sum less its minimum is what is left when it begins again at 0 wherever it falls below.
    up = Math.max(0, up + (deviation - level) - ALLOWANCE);
    down = Math.max(0, down - (deviation - level) - ALLOWANCE);
    return Math.max(up, down) > THRESHOLD;
  }
}
