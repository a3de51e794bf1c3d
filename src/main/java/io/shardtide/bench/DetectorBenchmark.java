package io.shardtide.bench;

import io.shardtide.bench.ResidualSeries.SeriesKind;
import io.shardtide.bench.ResidualSeries.Wanted;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.ResidualWindow;
import io.shardtide.learning.Attribution;
import io.shardtide.learning.Detectors;
import io.shardtide.learning.DriftDetector;
import io.shardtide.learning.ResidualMonitor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.hipparchus.stat.descriptive.rank.Median;

/** What each detector finds in residuals of known truth, how soon, and at what cost. */
public final class DetectorBenchmark {
  private static final int TIMED_VALUES = 200_000;
  private static final int TIMED_RUNS = 15;

  private DetectorBenchmark() {}

  /**
   * What a detector did with series of a kind.
   *
   * @param detector the detector
   * @param series what happened in the series
   * @param detected share of the series in which the wanted alarm came; NaN where none is wanted
   * @param delay median of measurements from the onset to it; NaN where there is none
   * @param falseAlarms other alarms in 1,000 measurements
   * @param nanos time of the detector for one value, in nanoseconds
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
   * @param seed of the series
   * @param count series of each kind
   * @param progress hears what is done
   * @throws IllegalArgumentException if there are no series
   */
  public static List<DetectorRow> run(long seed, int count, Consumer<String> progress) {
    if (count < 1) {
      throw new IllegalArgumentException("%d series; legal are 1 and more".formatted(count));
    }
    List<DetectorRow> rows = new ArrayList<>();
    for (DetectorKind detector : DetectorKind.values()) {
      progress.accept(detector.key());
      double nanos = nanos(detector);
      for (SeriesKind kind : SeriesKind.values()) {
        Tally tally = new Tally();
        for (int s = 0; s < count; s++) {
          watch(new ResidualSeries(kind, seed + s), kind, detector, tally);
        }
        boolean wants = kind.wanted() != Wanted.NOTHING;
        rows.add(
            new DetectorRow(
                detector,
                kind,
                wants ? (double) tally.delays.size() / count : Double.NaN,
                tally.medianDelay(),
                1000.0 * tally.falseAlarms / tally.measurements,
                nanos));
      }
    }
    return rows;
  }

  /** What is counted over series of a kind. */
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

  /** Watches a series until the wanted alarm. */
  private static void watch(
      ResidualSeries series, SeriesKind kind, DetectorKind detector, Tally tally) {
    ResidualMonitor ofCommon = ResidualMonitor.ofCommon(detector);
    ResidualMonitor ofDevice = ResidualMonitor.ofDevice(detector);
    ResidualWindow common = ResidualWindow.begin("");
    ResidualWindow[] devices = new ResidualWindow[ResidualSeries.DEVICES];
    Arrays.fill(devices, common);
    for (int t = 0; t < ResidualSeries.LENGTH; t++) {
      Attribution residuals = Attribution.of(series.next());
      tally.measurements++;
      boolean found = false;
      common = ofCommon.add(common, residuals.common());
      if (ofCommon.isAlarm(common)) {
        common = ResidualWindow.begin("");
        if (kind.wanted() == Wanted.MODEL && t >= ResidualSeries.ONSET) {
          found = true;
        } else {
          tally.falseAlarms++;
        }
      }
      for (int d = 0; d < devices.length; d++) {
        devices[d] = ofDevice.add(devices[d], residuals.excess().get(d));
        if (ofDevice.isAlarm(devices[d])) {
          boolean slower = ofDevice.recentShift(devices[d]) > 0;
          devices[d] = ResidualWindow.begin("");
          if (kind.wanted() == Wanted.STRAGGLER
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

  /** Returns the time of one value: the fastest of several runs, after as many to warm up. */
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
      DriftDetector detector = Detectors.create(kind);
      long start = System.nanoTime();
      for (double value : values) {
        alarms += detector.add(value) ? 1 : 0;
      }
      if (run >= TIMED_RUNS) {
        fastest = Math.min(fastest, (System.nanoTime() - start) / (double) TIMED_VALUES);
      }
    }
    if (alarms < 0) {
      throw new IllegalStateException("Alarms are counted, so that no loop is optimised away");
    }
    return fastest;
  }
}
