package io.shardtide.wire;

import io.shardtide.domain.TrainingState;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;

final class TrainingStateMapping {
  private TrainingStateMapping() {}

  static io.shardtide.avro.TrainingState toAvro(TrainingState state) {
    return new io.shardtide.avro.TrainingState(
        state.received(),
        state.computations(),
        state.patience(),
        state.driftFrom().isPresent() ? state.driftFrom().getAsLong() : null,
        state.driftModel().orElse(null),
        state.learned(),
        state.olderKept(),
        Instant.ofEpochMilli(state.decidedAtMs()));
  }

  static TrainingState fromAvro(io.shardtide.avro.TrainingState avro) {
    return new TrainingState(
        avro.getReceived(),
        avro.getComputations(),
        avro.getPatience(),
        avro.getDriftFrom() == null ? OptionalLong.empty() : OptionalLong.of(avro.getDriftFrom()),
        Optional.ofNullable(avro.getDriftModel()),
        avro.getLearned(),
        avro.getOlderKept(),
        avro.getDecidedAt().toEpochMilli());
  }
}
