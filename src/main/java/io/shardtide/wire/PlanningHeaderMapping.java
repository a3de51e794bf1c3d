package io.shardtide.wire;

import io.shardtide.domain.PlanningHeader;
import io.shardtide.domain.PlanningHeader.PredictedGeneration;
import io.shardtide.domain.PlanningState;
import java.util.Optional;

final class PlanningHeaderMapping {
  private PlanningHeaderMapping() {}

  static io.shardtide.avro.PlanningHeader toAvro(PlanningHeader header) {
    return new io.shardtide.avro.PlanningHeader(
        header
            .predicted()
            .map(
                p ->
                    new io.shardtide.avro.PredictedGeneration(
                        p.generation(),
                        SpecMapping.toAvro(p.source()),
                        p.modelId(),
                        SpecMapping.toAvro(p.cluster())))
            .orElse(null),
        header.isPartial(),
        header.answered(),
        header.state().isPending(),
        header.state() == PlanningState.MODEL_PENDING,
        header.state() == PlanningState.BACKGROUND_SEARCH_DUE,
        RememberedPlansMapping.toAvro(header.plans()),
        SpeedMapping.toAvro(header.slow()));
  }

  static PlanningHeader fromAvro(io.shardtide.avro.PlanningHeader avro) {
    return new PlanningHeader(
        Optional.ofNullable(avro.getGeneration())
            .map(
                p ->
                    new PredictedGeneration(
                        p.getGeneration(),
                        SpecMapping.fromAvro(p.getSource()),
                        p.getModelId(),
                        SpecMapping.fromAvro(p.getCluster()))),
        avro.getIsPartial(),
        avro.getAnswered(),
        state(avro),
        RememberedPlansMapping.fromAvro(avro.getPlans()),
        SpeedMapping.fromAvro(avro.getSlow()));
  }

  /** The store keeps the state as three flags. */
  private static PlanningState state(io.shardtide.avro.PlanningHeader avro) {
    boolean waits = avro.getWaits();
    boolean deepening = avro.getDeepening();
    if ((avro.getModelChanged() && !waits) || (deepening && waits)) {
      throw new IllegalArgumentException(
          "flags of a planning header must be at most one of waits and deepening, and modelChanged only with waits, got waits %s, modelChanged %s, deepening %s"
              .formatted(waits, avro.getModelChanged(), deepening));
    }
    if (deepening) {
      return PlanningState.BACKGROUND_SEARCH_DUE;
    }
    if (waits) {
      return avro.getModelChanged() ? PlanningState.MODEL_PENDING : PlanningState.CHANGE_PENDING;
    }
    return PlanningState.IDLE;
  }
}
