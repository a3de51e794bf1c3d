package io.shardtide.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.domain.PlanningHeader;
import io.shardtide.domain.PlanningHeader.PredictedGeneration;
import io.shardtide.domain.PlanningState;
import io.shardtide.domain.RememberedPlans;
import io.shardtide.testing.Fixtures;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class PlanningHeaderMappingTest {
  private static PlanningHeader header(PlanningState state) {
    return new PlanningHeader(
        Optional.of(new PredictedGeneration(4, Fixtures.at(9), "model", Fixtures.cluster(2, 5))),
        false,
        3,
        state,
        RememberedPlans.NONE,
        List.of());
  }

  @ParameterizedTest
  @EnumSource
  void every_state_survives(PlanningState state) {
    PlanningHeader header = header(state);
    assertThat(PlanningHeaderMapping.fromAvro(PlanningHeaderMapping.toAvro(header)))
        .isEqualTo(header);
  }

  @ParameterizedTest
  @CsvSource({"false, true, false", "true, false, true", "true, true, true", "false, true, true"})
  void impossible_flags_are_refused(boolean waits, boolean modelChanged, boolean deepening) {
    io.shardtide.avro.PlanningHeader avro =
        PlanningHeaderMapping.toAvro(header(PlanningState.IDLE));
    avro.setWaits(waits);
    avro.setModelChanged(modelChanged);
    avro.setDeepening(deepening);
    assertThatThrownBy(() -> PlanningHeaderMapping.fromAvro(avro))
        .hasMessage(
            "flags of a planning header must be at most one of waits and deepening, and modelChanged only with waits, got waits %s, modelChanged %s, deepening %s"
                .formatted(waits, modelChanged, deepening));
  }

  @Test
  void nothing_is_due_without_predictions() {
    assertThatThrownBy(
            () ->
                new PlanningHeader(
                    Optional.empty(),
                    false,
                    0,
                    PlanningState.CHANGE_PENDING,
                    RememberedPlans.NONE,
                    List.of()))
        .hasMessage("state without predictions must be IDLE, got CHANGE_PENDING");
  }
}
