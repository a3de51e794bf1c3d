package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredCostsBuilder;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.state.FeedbackState;
import io.shardtide.state.FeedbackState.MeasuredRun;
import io.shardtide.state.PendingWork;
import io.shardtide.state.PlanHistory;
import io.shardtide.state.PlanningState;
import io.shardtide.state.PlanningState.PredictedGeneration;
import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What planning and feedback store of a workload, from event to event. */
class HeadersTest {
  private static final ClusterSpec CLUSTER = Fixtures.cluster(4, 100);

  private static PredictedGeneration generation(long generation) {
    return new PredictedGeneration(generation, Fixtures.at(generation), "m", CLUSTER);
  }

  private static PlanningState in(PendingWork state) {
    return new PlanningState(
        Optional.of(generation(5)), false, 3, state, PlanHistory.NONE, List.of());
  }

  @ParameterizedTest
  @EnumSource
  void a_plan_is_due_when_one_is_pending_and_predictions_are_complete(PendingWork state) {
    boolean pending = state == PendingWork.CHANGE_PENDING || state == PendingWork.MODEL_PENDING;
    assertThat(in(state).isDue()).isEqualTo(pending);
    assertThat(in(state).with().isPartial(true).build().isDue()).isFalse();
    assertThat(in(state).with().isPartial(true).build().predicted()).contains(generation(5));
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "IDLE")
  void nothing_is_pending_before_the_first_prediction(PendingWork state) {
    assertThatThrownBy(
            () -> new PlanningState(Optional.empty(), false, 0, state, PlanHistory.NONE, List.of()))
        .hasMessage("state without predictions must be IDLE, got " + state);
  }

  @ParameterizedTest
  @EnumSource
  void a_new_generation_makes_a_change_pending(PendingWork state) {
    PlanningState next = in(state).with().isPartial(true).build().complete(generation(6));
    assertThat(next.state()).isEqualTo(PendingWork.CHANGE_PENDING);
    assertThat(next.isPartial()).isFalse();
    assertThat(next.predicted()).contains(generation(6));
    assertThat(PlanningState.NONE.complete(generation(1)).state())
        .isEqualTo(PendingWork.CHANGE_PENDING);
  }

  @ParameterizedTest
  @EnumSource
  void another_model_of_a_generation_does_not_hide_a_change(PendingWork state) {
    assertThat(in(state).complete(generation(5)).state())
        .isEqualTo(
            state == PendingWork.CHANGE_PENDING
                ? PendingWork.CHANGE_PENDING
                : PendingWork.MODEL_PENDING);
  }

  @Test
  void a_plan_answers_all_generations_since_the_last_answer() {
    PlanningState pending = in(PendingWork.CHANGE_PENDING);
    assertThat(pending.firstGeneration()).isEqualTo(4);
    PlanningState answered =
        pending.answered(
            pending.predicted().orElseThrow().generation(), PendingWork.BACKGROUND_SEARCH_DUE);
    assertThat(answered.answered()).isEqualTo(5);
    assertThat(answered.state()).isEqualTo(PendingWork.BACKGROUND_SEARCH_DUE);
    assertThat(answered.firstGeneration()).as("of another model").isEqualTo(5);
    assertThat(answered.with().state(PendingWork.IDLE).build())
        .isEqualTo(pending.answered(answered.answered(), PendingWork.IDLE));
    PlanHistory plans = PlanHistory.NONE.with("a", id -> Optional.empty(), id -> {});
    assertThat(pending.with().plans(plans).build())
        .isEqualTo(
            new PlanningState(
                Optional.of(generation(5)),
                false,
                3,
                PendingWork.CHANGE_PENDING,
                plans,
                List.of()));
  }

  private static MeasuredCosts measured(String id, String plan, String run, long step) {
    return MeasuredCostsBuilder.builder()
        .measurementId(id)
        .workloadId("w")
        .planId(plan)
        .run(run)
        .step(step)
        .steps(1)
        .devices(List.of(new MeasuredDevice(1, 1, 1)))
        .collectives(List.of())
        .source("trainer")
        .measuredAt(Fixtures.TIME)
        .build();
  }

  @Test
  void the_latest_measurements_and_runs_are_stored() {
    FeedbackState header = FeedbackState.NONE;
    List<String> ids = new ArrayList<>();
    List<MeasuredRun> runs = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      header = header.measured(measured("m" + i, "plan", "run" + i, i));
      ids.add("m" + i);
      runs.add(new MeasuredRun("run" + i, i));
      assertThat(header.measurements()).isEqualTo(ids.subList(Math.max(0, i - 31), i + 1));
      assertThat(header.runs()).isEqualTo(runs.subList(Math.max(0, i - 7), i + 1));
    }
    assertThat(header.lastStep("run32")).hasValue(32);
    assertThat(header.lastStep("run31")).isEmpty();
    FeedbackState again = header.measured(measured("again", "plan", "run35", 50));
    assertThat(again.lastStep("run35")).hasValue(50);
    assertThat(again.runs()).hasSize(8).endsWith(new MeasuredRun("run35", 50));
  }

  @Test
  void measurements_are_counted_by_plan() {
    FeedbackState one = FeedbackState.NONE.measured(measured("1", "a", "run", 1));
    assertThat(one.measuredPlan()).isEqualTo("a");
    assertThat(one.planMeasurements()).isEqualTo(1);
    FeedbackState two = one.measured(measured("2", "a", "run", 2));
    assertThat(two.planMeasurements()).isEqualTo(2);
    FeedbackState other = two.measured(measured("3", "b", "run", 3));
    assertThat(other.measuredPlan()).isEqualTo("b");
    assertThat(other.planMeasurements()).isEqualTo(1);
  }

  @Test
  void costs_of_another_batch_size_or_hardware_are_those_since_its_generation() {
    FeedbackState first = FeedbackState.NONE.with(CLUSTER, 2);
    assertThat(first.cluster()).contains(CLUSTER);
    assertThat(first.batchSince()).isEqualTo(2);
    ClusterSpec larger = Fixtures.cluster(8, 200);
    assertThat(first.with(larger, 3).cluster()).contains(larger);
    assertThat(first.with(larger, 3).batchSince()).as("the same batch").isEqualTo(2);
    assertThat(first.with(new ClusterSpec(4, 100, 1, 8, CLUSTER.hardware()), 4).batchSince())
        .isEqualTo(4);
    assertThat(first.with(new ClusterSpec(4, 100, 65_536, 8, "other"), 5).batchSince())
        .isEqualTo(5);
    ClusterSpec half = ClusterSpecBuilder.builder(CLUSTER).forwardBytesPerElement(2).build();
    assertThat(first.with(half, 6).batchSince()).as("half as much is sent").isEqualTo(6);
    ClusterSpec back = ClusterSpecBuilder.builder(CLUSTER).backwardBytesPerElement(2).build();
    assertThat(first.with(back, 7).batchSince()).isEqualTo(7);
    ClusterSpec reserving =
        ClusterSpecBuilder.builder(CLUSTER).reservedMemoryBytesPerDevice(1).build();
    assertThat(first.with(reserving, 8).batchSince()).as("costs are the same").isEqualTo(2);
    PlanHistory plans = PlanHistory.NONE.with("a", id -> Optional.empty(), id -> {});
    assertThat(first.with().plans(plans).build().plans()).isEqualTo(plans);
    assertThat(first.with().plans(plans).build().with().plans(PlanHistory.NONE).build())
        .isEqualTo(first);
  }
}
