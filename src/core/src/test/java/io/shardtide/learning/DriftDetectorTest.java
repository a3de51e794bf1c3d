package io.shardtide.learning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.domain.Baseline;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.Named;
import io.shardtide.domain.ResidualWindow;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.Scale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

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
    DriftDetector detector = Detectors.create(kind);
    Random random = new Random(7);
    for (int i = 0; i < values; i++) {
      double value =
          Math.max(
              -DriftDetector.MAX_DEVIATION,
              Math.min(DriftDetector.MAX_DEVIATION, random.nextGaussian()));
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
    assertThat(delay(afterNoise(kind, 100), DriftDetector.MIN_SHIFT * 0.45)).isZero();
  }

  @ParameterizedTest
  @EnumSource(DetectorKind.class)
  void three_outliers_are_no_alarm(DetectorKind kind) {
    for (double value : new double[] {DriftDetector.MAX_DEVIATION, -DriftDetector.MAX_DEVIATION}) {
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
    DriftDetector detector = Detectors.create(DetectorKind.PAGE_HINKLEY);
    for (int i = 0; i < 2_000; i++) {
      assertThat(detector.add(Math.min(2.5, 0.01 * i))).isFalse();
    }
    assertThat(delay(new Cusum(), 2.5)).isEqualTo(25);
  }

  @ParameterizedTest
  @EnumSource(DetectorKind.class)
  void a_slow_drift_raises_an_alarm(DetectorKind kind) {
    ResidualMonitor monitor = ResidualMonitor.ofCommon(kind);
    ResidualWindow window = ResidualWindow.begin("model");
    Random random = new Random(5);
    double level = 0;
    while (!monitor.isAlarm(window) && level < 1) {
      level += window.baseline().isEmpty() ? 0 : 0.0004;
      window = monitor.add(window, level + 0.03 * random.nextGaussian());
    }
    assertThat(level).isLessThan(3 * ResidualMonitor.MIN_SHIFT);
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
    DriftDetector detector = Detectors.create(kind);
    values.forEach(detector::add);
  }

  @Test
  void a_baseline_is_robust_to_a_third_of_outliers() {
    Float[] residuals = new Float[30];
    Arrays.setAll(residuals, i -> i % 3 == 0 ? 4f : 0.5f + 0.01f * (i % 5));
    Baseline baseline = Calibration.of(List.of(residuals));
    assertThat(baseline.center()).isBetween(0.5, 0.55);
    assertThat(baseline.noise()).isLessThan(0.05);
  }

  /** Noise during calibration makes the detector less sensitive, but does not disable it. */
  @Test
  void noise_during_calibration_does_not_disable_a_detector() {
    Baseline noisy = new Baseline(0, 3);
    assertThat(Calibration.deviation(noisy, 1, ResidualMonitor.MIN_SHIFT)).isGreaterThan(3);
    assertThat(
            Calibration.deviation(
                new Baseline(0, 0), ResidualMonitor.MIN_SHIFT, ResidualMonitor.MIN_SHIFT))
        .isEqualTo(DriftDetector.MIN_SHIFT);
    assertThat(Calibration.deviation(noisy, 1e300, ResidualMonitor.MIN_SHIFT))
        .isEqualTo(DriftDetector.MAX_DEVIATION);
  }

  @Test
  void a_window_is_bounded_and_tells_whether_the_last_residual_is_an_alarm() {
    ResidualMonitor monitor = ResidualMonitor.ofCommon(DetectorKind.DEFAULT);
    ResidualWindow window = ResidualWindow.begin("model");
    Random random = new Random(3);
    for (int i = 0; i < 1_000; i++) {
      window = monitor.add(window, 0.3 + 0.02 * random.nextGaussian());
      assertThat(window.residuals()).hasSizeLessThanOrEqualTo(ResidualMonitor.COMMON_CAPACITY);
      assertThat(monitor.isAlarm(window)).isFalse();
    }
    assertThat(window.samples()).isEqualTo(1_000);
    assertThat(window.baseline().orElseThrow().center()).isBetween(0.28, 0.32);
    int delay = 0;
    while (!monitor.isAlarm(window)) {
      window = monitor.add(window, 0.8);
      delay++;
    }
    assertThat(delay).isBetween(4, 8);
    assertThat(monitor.recentShift(window)).isBetween(0.45, 0.55);
  }

  @Test
  void every_detector_is_found_by_its_key() {
    for (DetectorKind kind : DetectorKind.values()) {
      assertThat(
              Named.parse(
                  DetectorKind.class, kind.label(), "detector", IllegalArgumentException::new))
          .isEqualTo(kind);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "CUSUM", "adwin2"})
  void an_unknown_detector_is_rejected(String name) {
    assertThatThrownBy(
            () -> Named.parse(DetectorKind.class, name, "detector", IllegalArgumentException::new))
        .hasMessage(
            "detector must be one of median-band, ewma, cusum, page-hinkley, adwin, got \"%s\""
                .formatted(name));
  }
}
