package io.shardtide.wire;

import io.shardtide.domain.PendingWork;
import io.shardtide.domain.PlanningState;
import io.shardtide.domain.PlanningState.PredictedGeneration;
import java.util.Optional;

final class PlanningStateMapping {
  private PlanningStateMapping() {}

  static io.shardtide.avro.PlanningHeader toAvro(PlanningState header) {
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
        header.state() == PendingWork.MODEL_PENDING,
        header.state() == PendingWork.BACKGROUND_SEARCH_DUE,
        PlanHistoryMapping.toAvro(header.plans()),
        SpeedMapping.toAvro(header.slow()));
  }

  static PlanningState fromAvro(io.shardtide.avro.PlanningHeader avro) {
    return new PlanningState(
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
        PlanHistoryMapping.fromAvro(avro.getPlans()),
        SpeedMapping.fromAvro(avro.getSlow()));
  }

  /** The store keeps the state as three flags. */
  private static PendingWork state(io.shardtide.avro.PlanningHeader avro) {
    boolean waits = avro.getWaits();
    boolean deepening = avro.getDeepening();
    if ((avro.getModelChanged() && !waits) || (deepening && waits)) {
      throw new IllegalArgumentException(
          "flags of a planning header must be at most one of waits and deepening, and modelChanged only with waits, got waits %s, modelChanged %s, deepening %s"
              .formatted(waits, avro.getModelChanged(), deepening));
    }
    if (deepening) {
      return PendingWork.BACKGROUND_SEARCH_DUE;
    }
    if (waits) {
      return avro.getModelChanged() ? PendingWork.MODEL_PENDING : PendingWork.CHANGE_PENDING;
    }
    return PendingWork.IDLE;
  }
}
