package io.shardtide.bench;

import io.shardtide.bench.ResidualSeries.ExpectedAlarm;
import io.shardtide.bench.ResidualSeries.SeriesKind;
import io.shardtide.learn.Attribution;
import io.shardtide.learn.ResidualMonitor;
import io.shardtide.state.ResidualWindow;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.hipparchus.stat.descriptive.rank.Median;

/** Compares drift detectors on residual series of known truth: detection, delay, cost. */
public final class DetectorBenchmark {
  private static final int TIMED_VALUES = 50_000;
  private static final int TIMED_RUNS = 15;

  private DetectorBenchmark() {}

  /**
   * Results of a detector on one kind of series.
   *
   * @param detector the detector
   * @param series the kind of series
   * @param detected share of the series with the expected alarm; NaN if none is expected
   * @param delay median number of measurements from the onset to the expected alarm; NaN without
   *     any
   * @param falseAlarms other alarms per 1,000 measurements
   * @param nanos time of the detector per value, in nanoseconds
   */
  public record DetectorRow(
      DetectorKind detector,
      SeriesKind series,
      double detected,
      double delay,
      double falseAlarms,
      double nanos) {}

  /**
   * Runs all detectors on the same series.
   *
   * @param seed seed of the series
   * @param count number of series of each kind, at least 1
   * @param progress receives the name of each detector
   * @throws IllegalArgumentException if {@code count} is out of range
   */
  public static List<DetectorRow> run(long seed, int count, Consumer<String> progress) {
    if (count < 1) {
      throw new IllegalArgumentException("series must be at least 1, got %d".formatted(count));
    }
    List<DetectorRow> rows = new ArrayList<>();
    for (DetectorKind detector : DetectorKind.values()) {
      progress.accept(detector.key());
      double nanos = nanos(detector);
      for (SeriesKind kind : SeriesKind.values()) {
        Tally tally = new Tally();
        for (int s = 0; s < count; s++) {
          run(new ResidualSeries(kind, seed + s), kind, detector, tally);
        }
        boolean hasExpected = kind.expected() != ExpectedAlarm.NONE;
        rows.add(
            new DetectorRow(
                detector,
                kind,
                hasExpected ? (double) tally.delays.size() / count : Double.NaN,
                tally.medianDelay(),
                1000.0 * tally.falseAlarms / tally.measurements,
                nanos));
      }
    }
    return rows;
  }

  /** Counts over the series of one kind. */
  private static final class Tally {
    final List<Integer> delays = new ArrayList<>();
    long falseAlarms;
    long measurements;

    double medianDelay() {
      return delays.isEmpty()
          ? Double.NaN
          : new Median().evaluate(delays.stream().mapToDouble(d -> d).toArray());
    }
  }

  /** Monitors a series until the expected alarm. */
  private static void run(
      ResidualSeries series, SeriesKind kind, DetectorKind detector, Tally tally) {
    ResidualWindow common = ResidualWindow.begin("");
    ResidualWindow[] devices = new ResidualWindow[ResidualSeries.DEVICES];
    Arrays.fill(devices, common);
    for (int t = 0; t < ResidualSeries.LENGTH; t++) {
      Attribution residuals = Attribution.of(series.next());
      tally.measurements++;
      boolean found = false;
      common = ResidualMonitor.COMMON.add(common, residuals.common());
      if (isAlarm(ResidualMonitor.COMMON, common, detector)) {
        common = ResidualWindow.begin("");
        if (kind.expected() == ExpectedAlarm.MODEL && t >= ResidualSeries.ONSET) {
          found = true;
        } else {
          tally.falseAlarms++;
        }
      }
      for (int d = 0; d < devices.length; d++) {
        devices[d] = ResidualMonitor.DEVICE.add(devices[d], residuals.excess().get(d));
        if (isAlarm(ResidualMonitor.DEVICE, devices[d], detector)) {
          boolean slower = ResidualMonitor.DEVICE.recentShift(devices[d]) > 0;
          devices[d] = ResidualWindow.begin("");
          if (kind.expected() == ExpectedAlarm.STRAGGLER
              && t >= ResidualSeries.ONSET
              && d == ResidualSeries.SLOW_DEVICE) {
            found = true;
          } else if (slower) {
            tally.falseAlarms++;
          }
        }
      }
      if (found) {
        tally.delays.add(t - ResidualSeries.ONSET + 1);
        return;
      }
    }
  }

  /** Returns what the monitor would say if the detector was the planner's. */
  static boolean isAlarm(ResidualMonitor monitor, ResidualWindow window, DetectorKind detector) {
    return monitor.isAlarm(window, detector.create()::add);
  }

  /** Returns the time per value: the fastest of several runs, after as many warm-up runs. */
  private static double nanos(DetectorKind kind) {
    Random random = new Random(1);
    double[] values = new double[TIMED_VALUES];
    for (int i = 0; i < values.length; i++) {
      values[i] =
          Math.max(
              -DriftDetector.MAX_DEVIATION,
              Math.min(DriftDetector.MAX_DEVIATION, random.nextGaussian()));
    }
    double fastest = Double.POSITIVE_INFINITY;
    int alarms = 0;
    for (int run = 0; run < 2 * TIMED_RUNS; run++) {
      DriftDetector detector = kind.create();
      long start = System.nanoTime();
      for (double value : values) {
        alarms += detector.add(value) ? 1 : 0;
      }
      if (run >= TIMED_RUNS) {
        fastest = Math.min(fastest, (System.nanoTime() - start) / (double) TIMED_VALUES);
      }
    }
    if (alarms < 0) {
      throw new IllegalStateException(
          "The count of alarms keeps the loop from being optimized away");
    }
    return fastest;
  }
}
