package io.shardtide.learn;

import io.shardtide.state.Baseline;
import io.shardtide.state.ResidualWindow;
import java.util.List;
import java.util.function.DoublePredicate;

/**
 * Monitors a series of residuals: calibrates a baseline, then runs a detector on the deviations
 * from it. Stateless: a {@link ResidualWindow} holds the state, and the detector replays it at each
 * measurement.
 */
public enum ResidualMonitor {
  /**
   * The part common to all devices. 15%: the shipped model's error varies by 3% from plan to plan
   * ({@code models/README.md}); this is five times as much.
   */
  COMMON(StrictMath.log(1.15), 256),

  /**
   * How far devices are apart. 4%: a trained model's spread is 1 to 2%; tables of one kind that
   * become 1.6 times as slow spread devices by 5 to 15%.
   */
  SPREAD(StrictMath.log(1.04), 256),

  /**
   * The excess of one device, of which there may be thousands. 30%: predictions of one device have
   * larger errors than their common part, and the errors vary from plan to plan.
   */
  DEVICE(StrictMath.log(1.3), 128);

  /** Number of the latest residuals that estimate the current level; detectors need more. */
  private static final int RECENT = 4;

  /** Minimum number of residuals before a straggler can recover. */
  private static final int MIN_RECOVERY = 3;

  private final double minShift;

  /** The maximum number of residuals kept of a series. */
  final int capacity;

  ResidualMonitor(double minShift, int capacity) {
    this.minShift = minShift;
    this.capacity = capacity;
  }

  /** Returns the smallest shift that should raise an alarm, as a logarithm. */
  public double minShift() {
    return minShift;
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
    return isAlarm(window, new PageHinkley()::add);
  }

  /**
   * Returns whether the last residual of a window raises an alarm of a detector.
   *
   * @param detector a new one: receives deviations, and returns whether the level has changed
   */
  public boolean isAlarm(ResidualWindow window, DoublePredicate detector) {
    boolean alarm = false;
    if (window.baseline().isPresent()) {
      for (float residual : window.residuals()) {
        alarm = detector.test(Calibration.deviation(window.baseline().get(), residual, minShift));
      }
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
