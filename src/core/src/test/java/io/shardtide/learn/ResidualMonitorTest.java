package io.shardtide.learn;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.state.Baseline;
import io.shardtide.state.ResidualWindow;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** How a series is calibrated and kept; {@code DriftDetectorTest} of bench tests detectors. */
class ResidualMonitorTest {
  private static final double MIN_SHIFT = ResidualMonitor.COMMON.minShift();

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
    assertThat(Calibration.deviation(noisy, 1, MIN_SHIFT)).isGreaterThan(3);
    assertThat(Calibration.deviation(new Baseline(0, 0), MIN_SHIFT, MIN_SHIFT))
        .isEqualTo(PageHinkley.MIN_SHIFT);
    assertThat(Calibration.deviation(noisy, 1e300, MIN_SHIFT)).isEqualTo(PageHinkley.MAX_DEVIATION);
  }

  @Test
  void a_window_is_bounded_and_tells_whether_the_last_residual_is_an_alarm() {
    ResidualMonitor monitor = ResidualMonitor.COMMON;
    ResidualWindow window = ResidualWindow.begin("model");
    Random random = new Random(3);
    for (int i = 0; i < 1_000; i++) {
      window = monitor.add(window, 0.3 + 0.02 * random.nextGaussian());
      assertThat(window.residuals()).hasSizeLessThanOrEqualTo(ResidualMonitor.COMMON.capacity);
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
}
