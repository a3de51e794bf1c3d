package io.shardtide.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.bench.ResidualSeries.ExpectedAlarm;
import io.shardtide.bench.ResidualSeries.SeriesKind;
import io.shardtide.learn.Attribution;
import io.shardtide.learn.ResidualMonitor;
import io.shardtide.state.ResidualWindow;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.hipparchus.stat.descriptive.rank.Median;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares drift detectors on residual series of known truth: detection, delay, false alarms, time.
 * {@code -Dbench.series=100} is the number of series of each kind.
 */
class DetectorsTest {
  private static final int SERIES = Integer.getInteger("bench.series", 2);
  private static final long SEED = 1;
  private static final int TIMED_VALUES = 50_000;
  private static final int TIMED_RUNS = 15;

  @ParameterizedTest
  @EnumSource
  @Tag("nightly")
  void every_change_is_detected(DetectorKind detector) {
    double nanos = nanos(detector);
    Figures figures =
        new Figures(
            detector.key(), "detected %% | median delay | false alarms per 1,000 | ns per value");
    for (SeriesKind kind : SeriesKind.values()) {
      Tally tally = new Tally();
      for (int s = 0; s < SERIES; s++) {
        run(new ResidualSeries(kind, SEED + s), kind, detector, tally);
      }
      double falseAlarms = 1000.0 * tally.falseAlarms / tally.measurements;
      figures.add(
          kind.title(),
          "%.0f | %.0f | %.2f | %.0f",
          100.0 * tally.delays.size() / SERIES,
          tally.medianDelay(),
          falseAlarms,
          nanos);
      assertThat(falseAlarms).as(kind.title()).isLessThan(50);
      if (kind.expected() == ExpectedAlarm.NONE) {
        assertThat(tally.delays).isEmpty();
      } else if (SERIES == 2) {
        // The series are seeded: every detector detects every change of these.
        assertThat(tally.delays).as(kind.title()).hasSize(2);
      }
    }
    System.out.println(figures);
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
