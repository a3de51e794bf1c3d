package io.shardtide.wire;

import io.shardtide.avro.MeasuredComputation;
import io.shardtide.avro.MeasuredExchange;
import io.shardtide.avro.ShardPlacement;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.DeviceShard;
import io.shardtide.models.AvroMapping;
import io.shardtide.plan.MeasuredCollective;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.state.Baseline;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.FeedbackState;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.ResidualWindow;
import io.shardtide.state.TrainingState;
import io.shardtide.workload.Collective;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.VersionedTable;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.mapstruct.InheritInverseConfiguration;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;
import org.mapstruct.Named;
import org.mapstruct.SubclassMapping;

/** What is measured, what the learning loop says, and what is kept of both. */
@Mapper(
    config = AvroMapping.class,
    uses = {SpecMapping.class, PlanMapping.class})
interface LearningMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  LearningMapping INSTANCE = new LearningMappingImpl();

  io.shardtide.avro.MeasuredCosts toAvro(MeasuredCosts costs);

  MeasuredCosts fromAvro(io.shardtide.avro.MeasuredCosts avro);

  default MeasuredCollective fromAvro(io.shardtide.avro.MeasuredCollective avro) {
    return MeasuredCollective.ofNames(
        avro.getScope(), avro.getCollective(), avro.getDirection(), avro.getMs());
  }

  @Mapping(target = "cost", qualifiedByName = "cost")
  io.shardtide.avro.CostSample toAvro(CostSample sample);

  @Mapping(target = "cost", source = "avro")
  CostSample fromAvro(io.shardtide.avro.CostSample avro);

  @Named("cost")
  @SubclassMapping(source = CostSample.Computation.class, target = MeasuredComputation.class)
  @SubclassMapping(source = CostSample.StepCommunication.class, target = MeasuredExchange.class)
  Object toAvro(CostSample.Cost cost);

  default CostSample.Cost cost(io.shardtide.avro.CostSample avro) {
    return avro.getCost() instanceof MeasuredComputation computation
        ? fromAvro(computation, shards(computation, avro.getBatchSize()))
        : fromAvro((MeasuredExchange) avro.getCost());
  }

  @Mapping(target = "placements", source = "shards")
  MeasuredComputation toAvro(CostSample.Computation computation);

  @Mapping(target = "shards", source = "shards")
  CostSample.Computation fromAvro(MeasuredComputation computation, List<DeviceShard> shards);

  default io.shardtide.avro.TableSpec table(DeviceShard shard) {
    return SpecMapping.INSTANCE.toAvro(shard.table());
  }

  @Mapping(target = "of", ignore = true)
  DeviceShard shard(TableSpec table, ShardPlacement placement, int reuseBatchSize);

  /** Returns the shards; samples of earlier versions have whole rows on one device. */
  private List<DeviceShard> shards(MeasuredComputation avro, int batchSize) {
    int shards = avro.getShards().size();
    List<ShardPlacement> placements = avro.getPlacements();
    if (!placements.isEmpty() && placements.size() != shards) {
      throw new IllegalArgumentException(
          "placements must be none or one for each of %d shards, got %d"
              .formatted(shards, placements.size()));
    }
    List<DeviceShard> read = new ArrayList<>();
    for (int i = 0; i < shards; i++) {
      TableSpec table = SpecMapping.INSTANCE.fromAvro(avro.getShards().get(i));
      read.add(
          placements.isEmpty()
              ? DeviceShard.ofColumns(table, batchSize)
              : shard(table, placements.get(i), batchSize));
    }
    return read;
  }

  MeasuredExchange toAvro(CostSample.StepCommunication communication);

  @Mapping(target = "devicesPerNode", source = "avro", qualifiedByName = "devicesPerNode")
  CostSample.StepCommunication fromAvro(MeasuredExchange avro);

  @Named("devicesPerNode")
  default int devicesPerNode(MeasuredExchange avro) {
    return avro.getDevicesPerNode() == 0 ? avro.getColumns().size() : avro.getDevicesPerNode();
  }

  default Collective collective(String name) {
    return io.shardtide.workload.Named.parse(
        Collective.class, name, "collective", IllegalArgumentException::new);
  }

  io.shardtide.avro.FeedbackHeader toAvro(FeedbackState header);

  @Mapping(target = "measured", ignore = true)
  FeedbackState fromAvro(io.shardtide.avro.FeedbackHeader avro);

  @Mapping(target = "slowSince", qualifiedByName = "toMillis")
  io.shardtide.avro.ResidualWindow toAvro(ResidualWindow window);

  @Mapping(target = "forModel", ignore = true)
  @Mapping(target = "calibrated", ignore = true)
  @Mapping(target = "back", ignore = true)
  ResidualWindow fromAvro(io.shardtide.avro.ResidualWindow avro);

  /** Avro's setters do this for instants that are never null. */
  @Named("toMillis")
  default Instant toMillis(Optional<Instant> instant) {
    return instant.map(at -> at.truncatedTo(ChronoUnit.MILLIS)).orElse(null);
  }

  io.shardtide.avro.DatedTable toAvro(VersionedTable dated);

  VersionedTable fromAvro(io.shardtide.avro.DatedTable avro);

  io.shardtide.avro.DriftAlarm toAvro(DriftAlarm alarm);

  DriftAlarm fromAvro(io.shardtide.avro.DriftAlarm avro);

  io.shardtide.avro.ModelDecision toAvro(ModelDecision decision);

  ModelDecision fromAvro(io.shardtide.avro.ModelDecision avro);

  @Mapping(target = "decidedAt", source = "decidedAtMs")
  io.shardtide.avro.TrainingState toAvro(TrainingState state);

  @InheritInverseConfiguration
  @Mapping(target = "alarmed", ignore = true)
  @Mapping(target = "coldStarted", ignore = true)
  @Mapping(target = "forModel", ignore = true)
  TrainingState fromAvro(io.shardtide.avro.TrainingState avro);

  default Instant instant(long millis) {
    return Instant.ofEpochMilli(millis);
  }

  default long millis(Instant instant) {
    return instant.toEpochMilli();
  }

  io.shardtide.avro.Baseline toAvro(Baseline baseline);

  Baseline fromAvro(io.shardtide.avro.Baseline avro);
}
