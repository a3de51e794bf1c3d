package io.shardtide.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.state.PendingWork;
import io.shardtide.state.PlanHistory;
import io.shardtide.state.PlanningState;
import io.shardtide.state.PlanningState.PredictedGeneration;
import io.shardtide.testing.Fixtures;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class PlanMappingTest {
  private static PlanningState header(PendingWork state) {
    return new PlanningState(
        Optional.of(new PredictedGeneration(4, Fixtures.at(9), "model", Fixtures.cluster(2, 5))),
        false,
        3,
        state,
        PlanHistory.NONE,
        List.of());
  }

  @ParameterizedTest
  @EnumSource
  void every_state_survives(PendingWork state) {
    PlanningState header = header(state);
    assertThat(Codec.PLANNING_HEADER.fromAvro().apply(Codec.PLANNING_HEADER.toAvro().apply(header)))
        .isEqualTo(header);
  }

  @ParameterizedTest
  @CsvSource({"false, true, false", "true, false, true", "true, true, true", "false, true, true"})
  void impossible_flags_are_refused(boolean waits, boolean modelChanged, boolean deepening) {
    io.shardtide.avro.PlanningHeader avro =
        Codec.PLANNING_HEADER.toAvro().apply(header(PendingWork.IDLE));
    avro.setWaits(waits);
    avro.setModelChanged(modelChanged);
    avro.setDeepening(deepening);
    assertThatThrownBy(() -> Codec.PLANNING_HEADER.fromAvro().apply(avro))
        .hasMessage(
            "flags of a planning header must be at most one of waits and deepening, and modelChanged only with waits, got waits %s, modelChanged %s, deepening %s"
                .formatted(waits, modelChanged, deepening));
  }

  @Test
  void nothing_is_due_without_predictions() {
    assertThatThrownBy(
            () ->
                new PlanningState(
                    Optional.empty(),
                    false,
                    0,
                    PendingWork.CHANGE_PENDING,
                    PlanHistory.NONE,
                    List.of()))
        .hasMessage("state without predictions must be IDLE, got CHANGE_PENDING");
  }
}
