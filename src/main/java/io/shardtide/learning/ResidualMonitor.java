package io.shardtide.learning;

import io.shardtide.domain.Baseline;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.ResidualWindow;
import java.util.List;
import java.util.Optional;

/**
 * Watches a series of residuals: learns where they usually lie, then waits for a detector's alarm.
 * Everything that it knows is in a {@link ResidualWindow}; the detector is made from it each time.
 */
public final class ResidualMonitor {
  /**
   * The least change of the common part that is worth an alarm, as a logarithm: 15%. The shipped
   * model is off by 3% at one plan and another 3% at the next ({@code models/README.md}); five
   * times that is not chance.
   */
  public static final double LEAST_SHIFT = StrictMath.log(1.15);

  /**
   * The least excess of a device that is worth an alarm: 30%. What a model says of one device is
   * off by more than what it says of all, and by something else with each plan.
   */
  public static final double LEAST_EXCESS = StrictMath.log(1.3);

  /** Residuals that are kept of the common part. */
  static final int COMMON_KEPT = 256;

  /** Residuals that are kept of a device: there may be thousands of devices. */
  static final int DEVICE_KEPT = 128;

  /** Residuals that say how things are now: fewer than any detector waits for after a step. */
  private static final int RECENT = 4;

  private final DetectorKind kind;
  private final double leastShift;
  private final int kept;

  private ResidualMonitor(DetectorKind kind, double leastShift, int kept) {
    this.kind = kind;
    this.leastShift = leastShift;
    this.kept = kept;
  }

  /** Returns what watches the part that is common to all devices. */
  public static ResidualMonitor ofCommon(DetectorKind kind) {
    return new ResidualMonitor(kind, LEAST_SHIFT, COMMON_KEPT);
  }

  /** Returns what watches a device's excess. */
  public static ResidualMonitor ofDevice(DetectorKind kind) {
    return new ResidualMonitor(kind, LEAST_EXCESS, DEVICE_KEPT);
  }

  /** Returns the window with a residual more, and with a baseline as soon as there can be one. */
  public ResidualWindow add(ResidualWindow before, double residual) {
    ResidualWindow window = before.plus(residual, kept);
    return window.baseline().isEmpty() && window.residuals().size() >= Calibration.SAMPLES
        ? window.calibrated(Calibration.of(window.residuals()))
        : window;
  }

  /** Returns whether the last residual of a window is an alarm. */
  public boolean isAlarm(ResidualWindow window) {
    if (window.baseline().isEmpty()) {
      return false;
    }
    Baseline baseline = window.baseline().get();
    DriftDetector detector = Detectors.begin(kind);
    boolean alarm = false;
    for (float residual : window.residuals()) {
      alarm = detector.add(Calibration.deviation(baseline, residual, leastShift));
    }
    return alarm;
  }

  /**
   * Returns the median of the last residuals of a window that has a baseline, less the baseline's.
   */
  public double recentShift(ResidualWindow window) {
    return recent(window) - window.baseline().map(Baseline::center).orElse(0.0);
  }

  /** Returns the median of the last residuals of a window; of none, the baseline's. */
  double recent(ResidualWindow window) {
    List<Float> all = window.residuals();
    return all.isEmpty()
        ? window.baseline().map(Baseline::center).orElse(0.0)
        : Calibration.median(all.subList(Math.max(0, all.size() - RECENT), all.size()));
  }

  /**
   * Returns whether a slow device's last residuals are back where they usually lie: nearer to it
   * than to the least excess that is worth an alarm.
   */
  boolean isBack(ResidualWindow window) {
    return window.residuals().size() >= 3 && recentShift(window) < leastShift / 2;
  }

  /** Returns the center of the baseline that a window has, if any. */
  static Optional<Double> usual(ResidualWindow window) {
    return window.baseline().map(Baseline::center);
  }
}
