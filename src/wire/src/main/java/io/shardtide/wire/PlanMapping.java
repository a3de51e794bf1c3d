package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.ExpectedTime;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Transfer;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.PendingWork;
import io.shardtide.state.PlanHistory;
import io.shardtide.state.PlanningState;
import io.shardtide.state.PlanningState.PredictedGeneration;
import io.shardtide.state.SpeedHistory;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Named;
import io.shardtide.workload.ShardScope;
import org.mapstruct.InheritInverseConfiguration;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

/**
 * Plans, in groups of fields in values and flat in Avro; what becomes of them, and what is kept of
 * them.
 */
@Mapper(config = AvroMapping.class, uses = SpecMapping.class, imports = PendingWork.class)
interface PlanMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  PlanMapping INSTANCE = new PlanMappingImpl();

  @Mapping(target = ".", source = "origin")
  @Mapping(target = ".", source = "prediction")
  @Mapping(target = ".", source = "prediction.insight")
  @Mapping(target = ".", source = "transition")
  @Mapping(target = "movedBytes", expression = "java(plan.movedBytes())")
  @Mapping(target = ".", source = "run")
  io.shardtide.avro.ShardingPlan toAvro(ShardingPlan plan);

  @Mapping(target = "origin", source = "avro")
  @Mapping(target = "shards", source = "shards")
  @Mapping(target = "replication", source = "replication")
  @Mapping(target = "codecs", source = "codecs")
  @Mapping(target = "kernels", source = "kernels")
  @Mapping(target = "prediction", source = "avro")
  @Mapping(target = "transition", source = "avro")
  @Mapping(target = "run", source = "avro")
  ShardingPlan fromAvro(io.shardtide.avro.ShardingPlan avro);

  @Mapping(target = "insight", source = "avro")
  PlanPrediction prediction(io.shardtide.avro.ShardingPlan avro);

  @Mapping(target = "groups", source = "groups.count")
  @Mapping(target = "layout", source = "groups.layout")
  io.shardtide.avro.Replication toAvro(Replication replication);

  @InheritInverseConfiguration
  Replication fromAvro(io.shardtide.avro.Replication replication);

  default ShardScope scope(String name) {
    return Named.parse(ShardScope.class, name, "scope", IllegalArgumentException::new);
  }

  default Direction direction(String name) {
    return Named.parse(Direction.class, name, "direction", IllegalArgumentException::new);
  }

  @Mapping(target = ".", source = "region")
  io.shardtide.avro.Shard toAvro(Shard shard);

  @Mapping(target = "region", source = "avro")
  Shard fromAvro(io.shardtide.avro.Shard avro);

  @Mapping(target = ".", source = "overlap")
  @Mapping(target = ".", source = "overlap.region")
  io.shardtide.avro.Move toAvro(Transfer move);

  @Mapping(target = "overlap", source = "avro")
  Transfer fromAvro(io.shardtide.avro.Move avro);

  @Mapping(target = "region", source = "avro")
  Overlap overlap(io.shardtide.avro.Move avro);

  @Mapping(target = ".", source = "shortfall")
  io.shardtide.avro.InfeasibleWorkload toAvro(InfeasibleWorkload value);

  @Mapping(target = "shortfall", source = "avro")
  InfeasibleWorkload fromAvro(io.shardtide.avro.InfeasibleWorkload avro);

  @Mapping(target = "status", source = "kind")
  io.shardtide.avro.PlanStatus toAvro(PlanStatus status);

  @InheritInverseConfiguration
  PlanStatus fromAvro(io.shardtide.avro.PlanStatus avro);

  io.shardtide.avro.AcceptedStatus toAvro(AcceptedStatus accepted);

  AcceptedStatus fromAvro(io.shardtide.avro.AcceptedStatus avro);

  io.shardtide.avro.DeviceSpeeds toAvro(DeviceSpeeds speeds);

  DeviceSpeeds fromAvro(io.shardtide.avro.DeviceSpeeds avro);

  @Mapping(target = "of", ignore = true)
  DeviceSpeed fromAvro(io.shardtide.avro.DeviceSpeed avro);

  @Mapping(target = "device", source = "position")
  io.shardtide.avro.SpeedHistory toAvro(SpeedHistory history);

  @Mapping(target = "position", source = "device")
  @Mapping(target = "at", ignore = true)
  SpeedHistory fromAvro(io.shardtide.avro.SpeedHistory avro);

  io.shardtide.avro.RememberedPlans toAvro(PlanHistory plans);

  /**
   * The source of a move is in a store of its own: the version before could not read a new field.
   */
  @Mapping(target = "previous", expression = "java(java.util.Optional.empty())")
  @Mapping(target = "with", ignore = true)
  @Mapping(target = "without", ignore = true)
  PlanHistory fromAvro(io.shardtide.avro.RememberedPlans avro);

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

  io.shardtide.avro.DeviceSpeed toAvro(DeviceSpeed speed);

  io.shardtide.avro.PredictedGeneration toAvro(PredictedGeneration predicted);

  PredictedGeneration fromAvro(io.shardtide.avro.PredictedGeneration avro);

  io.shardtide.avro.ExpectedTime toAvro(ExpectedTime time);

  ExpectedTime fromAvro(io.shardtide.avro.ExpectedTime avro);
}
