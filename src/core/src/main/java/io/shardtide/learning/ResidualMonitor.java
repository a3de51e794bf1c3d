package io.shardtide.learning;

import io.shardtide.domain.Baseline;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.ResidualWindow;
import java.util.List;

/**
 * Monitors a series of residuals: calibrates a baseline, then runs a detector on the deviations
 * from it. Stateless: a {@link ResidualWindow} holds the state, and the detector replays it at each
 * measurement.
 */
public final class ResidualMonitor {
  /**
   * The smallest shift of the common part that should raise an alarm, as a logarithm: 15%. The
   * shipped model's error varies by 3% from plan to plan ({@code models/README.md}); this is five
   * times as much.
   */
  public static final double MIN_SHIFT = StrictMath.log(1.15);

  /**
   * The smallest excess of a device that should raise an alarm, as a logarithm: 30%. Predictions of
   * one device have larger errors than their common part, and the errors vary from plan to plan.
   */
  public static final double MIN_EXCESS = StrictMath.log(1.3);

  /**
   * The smallest growth of the spread of devices that should raise an alarm, as a logarithm: 4%. A
   * trained model's spread is 1 to 2%; tables of one kind that become 1.6 times as slow spread
   * devices by 5 to 15% (RATIONALE.md).
   */
  public static final double MIN_SPREAD = StrictMath.log(1.04);

  /** Maximum number of residuals kept of the common part. */
  static final int COMMON_CAPACITY = 256;

  /** Maximum number of residuals kept of each device, of which there may be thousands. */
  static final int DEVICE_CAPACITY = 128;

  /** Number of the latest residuals that estimate the current level; detectors need more. */
  private static final int RECENT = 4;

  /** Minimum number of residuals before a straggler can recover. */
  private static final int MIN_RECOVERY = 3;

  private final DetectorKind kind;
  private final double minShift;
  private final int capacity;

  private ResidualMonitor(DetectorKind kind, double minShift, int capacity) {
    this.kind = kind;
    this.minShift = minShift;
    this.capacity = capacity;
  }

  /** Returns a monitor of how far devices are apart. */
  public static ResidualMonitor ofSpread(DetectorKind kind) {
    return new ResidualMonitor(kind, MIN_SPREAD, COMMON_CAPACITY);
  }

  /** Returns a monitor of the part common to all devices. */
  public static ResidualMonitor ofCommon(DetectorKind kind) {
    return new ResidualMonitor(kind, MIN_SHIFT, COMMON_CAPACITY);
  }

  /** Returns a monitor of one device's excess. */
  public static ResidualMonitor ofDevice(DetectorKind kind) {
    return new ResidualMonitor(kind, MIN_EXCESS, DEVICE_CAPACITY);
  }

  /** Returns the window with one more residual, calibrated once there are enough. */
  public ResidualWindow add(ResidualWindow before, double residual) {
    ResidualWindow window = before.plus(residual, capacity);
    return window.baseline().isEmpty() && window.residuals().size() >= Calibration.SAMPLES
        ? window.calibrated(Calibration.of(window.residuals()))
        : window;
  }

  /** Returns whether the last residual of a window raises an alarm. */
  public boolean isAlarm(ResidualWindow window) {
    if (window.baseline().isEmpty()) {
      return false;
    }
    Baseline baseline = window.baseline().get();
    DriftDetector detector = Detectors.create(kind);
    boolean alarm = false;
    for (float residual : window.residuals()) {
      alarm = detector.add(Calibration.deviation(baseline, residual, minShift));
    }
    return alarm;
  }

  /** Returns the current level of a calibrated window minus its baseline, as a logarithm. */
  public double recentShift(ResidualWindow window) {
    return recentLevel(window) - window.baseline().map(Baseline::center).orElse(0.0);
  }

  /** Returns the median of a window's latest residuals; the baseline if it has none. */
  double recentLevel(ResidualWindow window) {
    List<Float> all = window.residuals();
    return all.isEmpty()
        ? window.baseline().map(Baseline::center).orElse(0.0)
        : Calibration.median(all.subList(Math.max(0, all.size() - RECENT), all.size()));
  }

  /** Returns whether a calibrated window's current level is half the minimum shift up or more. */
  boolean hasShifted(ResidualWindow window) {
    return window.baseline().isPresent() && recentShift(window) >= minShift / 2;
  }

  /**
   * Returns whether a straggler has recovered: its current level is closer to the baseline than to
   * the minimum excess of an alarm.
   */
  boolean hasRecovered(ResidualWindow window) {
    return window.residuals().size() >= MIN_RECOVERY && recentShift(window) < minShift / 2;
  }
}
