package io.shardtide.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.ShardScope;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Collectives in a trainer's report. */
class MeasuredCollectiveTest {
  private static final MeasuredCollective FORWARD = of("device", "all_to_all", "forward", 10, 20);
  private static final MeasuredCollective BACKWARD = of("device", "all_to_all", "backward", 4, 2);

  /** The second device is idle for 30 ms. */
  private static final List<MeasuredDevice> DEVICES =
      List.of(new MeasuredDevice(40, 10, 4), new MeasuredDevice(12, 50, 2));

  private static MeasuredCollective of(
      String scope, String collective, String direction, double first, double second) {
    return MeasuredCollective.ofNames(scope, collective, direction, List.of(first, second));
  }

  private static MeasuredCosts measured(
      List<MeasuredDevice> devices, MeasuredCollective... collectives) {
    return MeasuredCostsBuilder.builder()
        .measurementId("m")
        .workloadId("w")
        .planId("plan")
        .run("run")
        .step(0)
        .steps(1)
        .devices(devices)
        .collectives(List.of(collectives))
        .source("trainer")
        .measuredAt(Fixtures.TIME)
        .build();
  }

  private static void assertInvalid(ThrowingCallable code, String message) {
    assertThatThrownBy(code)
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_MEASUREMENT))
        .hasMessage(message);
  }

  @Test
  void a_report_has_collectives_by_name() {
    MeasuredCosts measured = measured(DEVICES, FORWARD, BACKWARD);
    assertThat(measured.collectiveMs(ShardScope.DEVICE, Collective.ALL_TO_ALL, Direction.BACKWARD))
        .contains(List.of(4.0, 2.0));
    assertThat(measured.collectiveMs(ShardScope.NODE, Collective.ALL_TO_ALL, Direction.BACKWARD))
        .isEmpty();
    assertThat(measured(DEVICES).collectives()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "rack, all_to_all, forward, 'scope of a collective must be one of device, node, cluster, copies, got \"rack\"'",
    "device, broadcast, forward, 'collective must be one of all_to_all, reduce_scatter, all_gather, all_reduce, got \"broadcast\"'",
    "device, ALL_TO_ALL, forward, 'collective must be one of all_to_all, reduce_scatter, all_gather, all_reduce, got \"ALL_TO_ALL\"'",
    "device, all_to_all, both, 'direction of a collective must be forward or backward, got \"both\"'"
  })
  void unknown_names_are_rejected(
      String scope, String collective, String direction, String message) {
    assertInvalid(() -> of(scope, collective, direction, 1, 1), message);
  }

  @ParameterizedTest
  @CsvSource({
    "device, all_gather, backward, all_to_all",
    "node, all_gather, forward, reduce_scatter or all_to_all",
    "node, reduce_scatter, backward, all_to_all or all_gather",
    "cluster, all_to_all, forward, reduce_scatter",
    "cluster, reduce_scatter, backward, all_gather",
    "copies, all_reduce, forward, none",
    "copies, all_gather, backward, all_reduce"
  })
  void a_collective_that_no_step_has_is_rejected(
      String scope, String collective, String direction, String expected) {
    assertInvalid(
        () -> of(scope, collective, direction, 1, 1),
        "no step has %s %s for scope %s; %s for scope %s must be %s"
            .formatted(direction, collective, scope, direction, scope, expected));
  }

  @ParameterizedTest
  @ValueSource(doubles = {-0.5, 600_001, Double.NaN, Double.POSITIVE_INFINITY})
  void a_duration_is_between_0_and_ten_minutes(double ms) {
    of("copies", "all_reduce", "backward", 0, 600_000);
    assertInvalid(
        () -> of("copies", "all_reduce", "backward", 1, ms),
        "backward all_reduce for scope copies on device 1 must be between 0 and 600000 ms, got %s ms"
            .formatted(ms));
  }

  @Test
  void a_collective_has_a_duration_for_each_device_and_is_reported_once() {
    assertInvalid(
        () -> measured(DEVICES.subList(0, 1), FORWARD, BACKWARD),
        "forward all_to_all for scope device must have one duration for each of 1 devices, got 2");
    assertInvalid(
        () -> measured(DEVICES, FORWARD, BACKWARD, of("device", "all_to_all", "forward", 1, 1)),
        "forward all_to_all for scope device must be reported once, got it twice");
  }

  @Test
  void communication_is_the_sum_of_the_collectives_and_idle_time() {
    MeasuredCollective gather = of("cluster", "all_gather", "backward", 1, 1);
    assertInvalid(
        () -> measured(DEVICES, FORWARD, BACKWARD, gather),
        "backward communication of device 0 must be the sum of its backward collectives, 5.0 ms, got 4.0 ms");
    assertInvalid(
        () -> measured(DEVICES, FORWARD),
        "backward communication of device 0 must be the sum of its backward collectives, 0.0 ms, got 4.0 ms");
    assertInvalid(
        () ->
            measured(DEVICES, FORWARD, BACKWARD, of("cluster", "reduce_scatter", "forward", 1, 1)),
        "forward communication of device 0 must be at least the sum of its forward collectives, 11.0 ms, got 10.0 ms");
    measured(
        List.of(new MeasuredDevice(40, 11, 5), new MeasuredDevice(12, 50, 3)),
        FORWARD,
        BACKWARD,
        of("cluster", "reduce_scatter", "forward", 1, 1),
        gather);
  }

  /** 1% of 10 and 4 ms, and 0.01 ms. */
  @ParameterizedTest
  @CsvSource({
    "9.9, 4, true",
    "9.88, 4, false",
    "10, 4.045, true",
    "10, 4.06, false",
    "10, 3.955, true",
    "10, 3.94, false",
    "1000, 4, true"
  })
  void sums_are_within_a_percent(double forward, double backward, boolean isValid) {
    List<MeasuredDevice> devices =
        List.of(new MeasuredDevice(40, forward, backward), DEVICES.get(1));
    if (isValid) {
      assertThat(measured(devices, FORWARD, BACKWARD).devices()).isEqualTo(devices);
    } else {
      assertThatThrownBy(() -> measured(devices, FORWARD, BACKWARD))
          .isInstanceOf(RejectedException.class);
    }
  }
}
