package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredCostsBuilder;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.Shortfall;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.DriftAlarm.AlarmKind;
import io.shardtide.state.DriftAlarmBuilder;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.ModelDecision.Trigger;
import io.shardtide.testing.Fixtures;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What trainers report, and what follows from it. */
class ReportsTest {
  private static MeasuredCosts measured(long step, int steps, MeasuredDevice... devices) {
    return MeasuredCostsBuilder.builder()
        .measurementId("m")
        .workloadId("w")
        .planId("plan")
        .run("run")
        .step(step)
        .steps(steps)
        .devices(List.of(devices))
        .collectives(List.of())
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
  void a_measurement_is_of_steps_and_devices() {
    MeasuredDevice device = new MeasuredDevice(1, 2, 4);
    assertThat(device.startMs()).isEqualTo(5);
    assertThat(measured(0, 1, device).devices()).containsExactly(device);
    assertInvalid(
        () -> measured(-1, 1, device),
        "a measurement must be of at least 1 step, up to a step of at least 0, got 1 steps up to"
            + " step -1");
    assertInvalid(
        () -> measured(0, 0, device),
        "a measurement must be of at least 1 step, up to a step of at least 0, got 0 steps up to"
            + " step 0");
    assertInvalid(
        () -> measured(0, 1),
        "a measurement must have one entry for each device of the plan, got none");
  }

  @ParameterizedTest
  @CsvSource({
    "'', w, s, INVALID_MEASUREMENT",
    "m, '', s, INVALID_WORKLOAD_ID",
    "m, w, '', INVALID_MEASUREMENT"
  })
  void a_measurement_has_names(String id, String workload, String source, RejectionReason reason) {
    MeasuredCosts valid = measured(0, 1, new MeasuredDevice(1, 2, 4));
    assertThatThrownBy(
            () ->
                MeasuredCostsBuilder.builder(valid)
                    .measurementId(id)
                    .workloadId(workload)
                    .source(source)
                    .build())
        .isInstanceOfSatisfying(
            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(reason));
  }

  @Test
  void a_workload_and_hardware_have_names() {
    assertThatThrownBy(() -> Workload.empty("\n"))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_WORKLOAD_ID));
    assertThatThrownBy(() -> new ClusterSpec(1, 1, 1, 1, ""))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CLUSTER));
  }

  @ParameterizedTest
  @CsvSource({
    "-0.5, 0, 0, computation, -0.5",
    "NaN, 0, 0, computation, NaN",
    "600001, 0, 0, computation, 600001.0",
    "0, -0.5, 0, forward communication, -0.5",
    "0, 0, Infinity, backward communication, Infinity"
  })
  void a_measured_cost_is_between_0_and_ten_minutes(
      double compute, double forward, double backward, String what, String value) {
    MeasuredDevice longest = new MeasuredDevice(600_000, 600_000, 600_000);
    measured(0, 1, longest, new MeasuredDevice(0, 0, 0));
    assertInvalid(
        () -> measured(0, 1, longest, new MeasuredDevice(compute, forward, backward)),
        "%s of device 1 must be between 0 and 600000 ms, got %s ms".formatted(what, value));
  }

  @ParameterizedTest
  @ValueSource(doubles = {-0.5, 0, 2, 3, Double.NaN})
  void the_forward_computation_is_a_part_of_the_computation(double forward) {
    assertThat(new MeasuredDevice(2, 1, 1).forwardComputeMs()).isEmpty();
    measured(0, 1, new MeasuredDevice(2, 1, 1, OptionalDouble.of(0.5)));
    assertInvalid(
        () -> measured(0, 1, new MeasuredDevice(2, 1, 1, OptionalDouble.of(forward))),
        "forward computation of device 0 must be above 0 and below its computation of 2.0 ms, got %s ms"
            .formatted(forward));
  }

  @Test
  void a_status_has_a_step() {
    assertThatThrownBy(() -> status(-1))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_STATUS))
        .hasMessage("step of a status must be at least 0, got -1");
    assertThat(status(0).step()).isZero();
  }

  @Test
  void a_status_has_a_wave_of_its_waves() {
    assertThat(status(1, 2, 3).describeKind()).isEqualTo("finished moving (wave 2 of 3)");
    assertThat(status(1, 1, 1).describeKind()).isEqualTo("finished moving");
    for (int wave : new int[] {0, 4}) {
      assertThatThrownBy(() -> status(1, wave, 3))
          .isInstanceOfSatisfying(
              RejectedException.class,
              e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_STATUS))
          .hasMessage(
              "wave of a status must be between 1 and its waves, got wave %d of 3".formatted(wave));
    }
  }

  private static PlanStatus status(long step, int wave, int waves) {
    return new PlanStatus(
        "w",
        "plan",
        PlanStatus.StatusKind.FINISHED_MOVING,
        step,
        Optional.empty(),
        "trainer",
        "run",
        Fixtures.TIME,
        wave,
        waves);
  }

  private static PlanStatus status(long step) {
    return new PlanStatus(
        "w",
        "plan",
        PlanStatus.StatusKind.ADOPTED,
        step,
        Optional.empty(),
        "trainer",
        "run",
        Fixtures.TIME,
        1,
        1);
  }

  private static DriftAlarm alarm(AlarmKind kind, OptionalInt device) {
    return DriftAlarmBuilder.builder()
        .hardware("h")
        .modelId("m")
        .kind(kind)
        .quantity(CostQuantity.COMPUTE)
        .workloadId("w")
        .device(device)
        .planId("plan")
        .detector("ewma")
        .samples(9)
        .usualRatio(1)
        .recentRatio(2)
        .measuredAt(Fixtures.TIME)
        .build();
  }

  @Test
  void an_alarm_names_a_device_if_one_is_slow() {
    assertThat(alarm(AlarmKind.STRAGGLER, OptionalInt.of(3)).device()).hasValue(3);
    assertThat(alarm(AlarmKind.MODEL, OptionalInt.empty()).device()).isEmpty();
    assertThatThrownBy(() -> alarm(AlarmKind.MODEL, OptionalInt.of(3)))
        .hasMessageStartingWith(
            "device must be given for an alarm of kind STRAGGLER only, got OptionalInt[3]");
    assertThatThrownBy(() -> alarm(AlarmKind.STRAGGLER, OptionalInt.empty()))
        .hasMessageStartingWith(
            "device must be given for an alarm of kind STRAGGLER only, got OptionalInt.empty");
  }

  @Test
  void a_decision_without_an_evaluation_has_no_errors() {
    ModelDecision kept =
        ModelDecision.withoutEvaluation(
            "h", Trigger.SCHEDULE, "champion", Optional.empty(), "too few", Fixtures.TIME);
    assertThat(kept.published()).isFalse();
    assertThat(kept.championId()).isEqualTo("champion");
    assertThat(kept.championRecentError()).isEmpty();
    assertThat(kept.challengerOldError()).isEmpty();
    ModelDecision chosen =
        ModelDecision.withoutEvaluation(
            "h", Trigger.PERSON, "champion", Optional.of("next"), "by hand", Fixtures.TIME);
    assertThat(chosen.published()).isTrue();
    assertThat(chosen.challengerId()).contains("next");
  }

  @Test
  void a_shortfall_is_of_bytes_or_of_a_way_to_shard() {
    assertThat(new Shortfall(1, true, List.of(), "why").describe())
        .isEqualTo("does not fit, 1 B short: why");
    assertThat(new Shortfall(0, true, List.of(), "why").describe()).isEqualTo("does not fit: why");
    assertThatThrownBy(() -> new Shortfall(-1, true, List.of(), "why"))
        .hasMessage("bytes of a shortfall must be at least 0, got -1");
  }
}
