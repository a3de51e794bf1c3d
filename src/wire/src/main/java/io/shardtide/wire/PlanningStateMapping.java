package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.state.PendingWork;
import io.shardtide.state.PlanningState;
import io.shardtide.state.PlanningState.PredictedGeneration;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

@Mapper(
    config = AvroMapping.class,
    uses = {SpecMapping.class, PlanHistoryMapping.class, SpeedMapping.class},
    imports = PendingWork.class)
interface PlanningStateMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  PlanningStateMapping INSTANCE = new PlanningStateMappingImpl();

  @Mapping(target = "generation", source = "predicted")
  @Mapping(target = "waits", source = "state.pending")
  @Mapping(
      target = "modelChanged",
      expression = "java(header.state() == PendingWork.MODEL_PENDING)")
  @Mapping(
      target = "deepening",
      expression = "java(header.state() == PendingWork.BACKGROUND_SEARCH_DUE)")
  io.shardtide.avro.PlanningHeader toAvro(PlanningState header);

  @Mapping(target = "predicted", source = "generation")
  @Mapping(target = "state", source = "avro")
  @Mapping(target = "complete", ignore = true)
  PlanningState fromAvro(io.shardtide.avro.PlanningHeader avro);

  io.shardtide.avro.PredictedGeneration toAvro(PredictedGeneration predicted);

  PredictedGeneration fromAvro(io.shardtide.avro.PredictedGeneration avro);

  /** Returns the state, which the store keeps as three flags. */
  default PendingWork state(io.shardtide.avro.PlanningHeader avro) {
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
