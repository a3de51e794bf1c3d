package io.shardtide.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.workload.ClusterSpec;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class ThroughputCurveTest {
  private static CurvePoint point(int devices, double stepMs) {
    return new CurvePoint(devices, OptionalDouble.of(stepMs));
  }

  private static ThroughputCurve curve(CurvePoint... points) {
    return new ThroughputCurve(
        "w", 1, "m", new ClusterSpec(4, 1L << 30, 1_000, 4, "h100"), List.of(points));
  }

  @Test
  void throughput_is_the_batch_by_the_step() {
    assertThat(curve(point(4, 10)).samplesPerSecond(4)).hasValue(100_000);
  }

  @Test
  void throughput_is_linear_between_points_and_constant_beyond_them() {
    ThroughputCurve curve = curve(point(4, 10), point(8, 5));
    assertThat(curve.samplesPerSecond(5)).hasValue(125_000);
    assertThat(curve.samplesPerSecond(7)).hasValue(175_000);
    assertThat(curve.samplesPerSecond(9)).hasValue(200_000);
    assertThat(curve.samplesPerSecond(3)).isEmpty();
  }

  @Test
  void the_fewest_devices_that_are_as_fast_are_known() {
    ThroughputCurve curve = curve(point(4, 10), point(8, 10), point(16, 5));
    assertThat(curve.fewest(4)).isEqualTo(4);
    assertThat(curve.fewest(6)).isEqualTo(4);
    assertThat(curve.fewest(8)).isEqualTo(4);
    assertThat(curve.fewest(9)).isEqualTo(9);
    assertThat(curve.fewest(16)).isEqualTo(16);
    assertThat(curve.fewest(20)).isEqualTo(16);
    assertThat(curve.fewest(3)).isEqualTo(3);
  }

  @Test
  void there_is_none_next_to_a_point_that_does_not_fit() {
    ThroughputCurve curve =
        curve(new CurvePoint(4, OptionalDouble.empty()), point(8, 5), point(16, 4));
    assertThat(curve.samplesPerSecond(4)).isEmpty();
    assertThat(curve.samplesPerSecond(6)).isEmpty();
    assertThat(curve.samplesPerSecond(8)).isPresent();
    assertThat(curve(new CurvePoint(4, OptionalDouble.empty())).samplesPerSecond(9)).isEmpty();
  }

  @Test
  void points_ascend_and_are_in_range() {
    assertThatThrownBy(() -> curve(point(8, 5), point(8, 4)))
        .hasMessage("devices of points must ascend, got 8 before 8");
    assertThatThrownBy(() -> curve()).hasMessage("points must be at least 1, got 0");
    assertThatThrownBy(() -> point(0, 5)).hasMessage("devices must be at least 1, got 0");
    assertThatThrownBy(() -> point(1, 0)).hasMessage("stepMs must be above 0, got 0.0");
  }
}
