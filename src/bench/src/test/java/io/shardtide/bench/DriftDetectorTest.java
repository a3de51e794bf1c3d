package io.shardtide.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.learn.PageHinkley;
import io.shardtide.learn.ResidualMonitor;
import io.shardtide.state.ResidualWindow;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.Scale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The contract of all detectors, and the properties of each. */
class DriftDetectorTest {
  /** Returns the number of values at a level until an alarm; 0 if there is none within 200. */
  private static int delay(DriftDetector detector, double level) {
    for (int i = 1; i <= 200; i++) {
      if (detector.add(level)) {
        return i;
      }
    }
    return 0;
  }

  private static DriftDetector afterNoise(DetectorKind kind, int values) {
    DriftDetector detector = kind.create();
    Random random = new Random(7);
    for (int i = 0; i < values; i++) {
      double value =
          Math.max(
              -PageHinkley.MAX_DEVIATION,
              Math.min(PageHinkley.MAX_DEVIATION, random.nextGaussian()));
      assertThat(detector.add(value)).as("value %d of noise", i).isFalse();
    }
    return detector;
  }

  @ParameterizedTest
  @EnumSource(DetectorKind.class)
  void a_shift_is_found_in_both_directions_and_noise_is_not(DetectorKind kind) {
    assertThat(delay(afterNoise(kind, 200), 5)).isBetween(1, 60);
    assertThat(delay(afterNoise(kind, 200), -5)).isBetween(1, 60);
    assertThat(delay(afterNoise(kind, 5_000), 0)).isZero();
  }

  @ParameterizedTest
  @EnumSource(DetectorKind.class)
  void less_than_half_of_the_minimum_shift_is_no_alarm(DetectorKind kind) {
    assertThat(delay(afterNoise(kind, 100), PageHinkley.MIN_SHIFT * 0.45)).isZero();
  }

  @ParameterizedTest
  @EnumSource(DetectorKind.class)
  void three_outliers_are_no_alarm(DetectorKind kind) {
    for (double value : new double[] {PageHinkley.MAX_DEVIATION, -PageHinkley.MAX_DEVIATION}) {
      DriftDetector detector = afterNoise(kind, 100);
      for (int burst = 0; burst < 10; burst++) {
        for (int i = 0; i < 3; i++) {
          assertThat(detector.add(value)).isFalse();
        }
        for (int i = 0; i < 40; i++) {
          assertThat(detector.add(0)).isFalse();
        }
      }
    }
  }

  @Test
  void cusum_adds_what_exceeds_the_allowance() {
    assertThat(delay(new Cusum(), 5)).as("5 times 3 above 12").isEqualTo(5);
    assertThat(delay(new Cusum(), 3)).as("13 times 1 above 12").isEqualTo(13);
    assertThat(delay(new Cusum(), 2)).isZero();
  }

  @Test
  void a_moving_average_weights_recent_values() {
    assertThat(delay(new Ewma(), 5)).as("5 (1 - 0.9^n) above 2").isEqualTo(5);
    assertThat(delay(new Ewma(), 2.5)).as("2.5 (1 - 0.9^n) above 2").isEqualTo(16);
  }

  @Test
  void a_median_needs_more_than_half_of_the_window() {
    DriftDetector detector = new MedianBand();
    for (int i = 0; i < 100; i++) {
      detector.add(i % 2 == 0 ? 0.1 : -0.1);
    }
    assertThat(delay(detector, 2.5)).isEqualTo(8);
    DriftDetector half = new MedianBand();
    for (int i = 0; i < 300; i++) {
      assertThat(half.add(i % 15 < 7 ? 5 : 0)).isFalse();
    }
  }

  /** Page-Hinkley's mean follows a small lasting shift that raises an alarm of CUSUM. */
  @Test
  void page_hinkley_tolerates_a_small_lasting_shift() {
    DriftDetector detector = DetectorKind.PAGE_HINKLEY.create();
    for (int i = 0; i < 2_000; i++) {
      assertThat(detector.add(Math.min(2.5, 0.01 * i))).isFalse();
    }
    assertThat(delay(new Cusum(), 2.5)).isEqualTo(25);
  }

  @ParameterizedTest
  @EnumSource(DetectorKind.class)
  void a_slow_drift_raises_an_alarm(DetectorKind kind) {
    ResidualMonitor monitor = ResidualMonitor.COMMON;
    ResidualWindow window = ResidualWindow.begin("model");
    Random random = new Random(5);
    double level = 0;
    while (!DetectorsTest.isAlarm(monitor, window, kind) && level < 1) {
      level += window.baseline().isEmpty() ? 0 : 0.0004;
      window = monitor.add(window, level + 0.03 * random.nextGaussian());
    }
    assertThat(level).isLessThan(3 * monitor.minShift());
  }

  /** A window of many thousand values stays small, and is cut where the level changed. */
  @Test
  void adwin_cuts_after_many_values_of_noise() {
    assertThat(delay(afterNoise(DetectorKind.ADWIN, 20_000), 4)).isBetween(5, 80);
  }

  @Property(tries = 200)
  void a_detector_accepts_any_values(
      @ForAll DetectorKind kind,
      @ForAll List<@Scale(15) @DoubleRange(min = -5, max = 5) Double> values) {
    DriftDetector detector = kind.create();
    values.forEach(detector::add);
  }
}
