package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Transfer;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Named;
import io.shardtide.workload.ShardScope;
import org.mapstruct.InheritInverseConfiguration;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

/** Plans: in groups of fields in values, flat in Avro. */
@Mapper(
    config = AvroMapping.class,
    uses = {SpecMapping.class, SpeedMapping.class})
interface ShardingPlanMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  ShardingPlanMapping INSTANCE = new ShardingPlanMappingImpl();

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

  io.shardtide.avro.CollectiveCodec toAvro(CollectiveCodec codec);

  CollectiveCodec fromAvro(io.shardtide.avro.CollectiveCodec codec);

  io.shardtide.avro.PlannedKernel toAvro(PlannedKernel kernel);

  PlannedKernel fromAvro(io.shardtide.avro.PlannedKernel kernel);

  default ShardScope scope(String name) {
    return Named.parse(ShardScope.class, name, "scope", IllegalArgumentException::new);
  }

  default Direction direction(String name) {
    return Named.parse(Direction.class, name, "direction", IllegalArgumentException::new);
  }

  @Mapping(target = ".", source = "region")
  io.shardtide.avro.Shard toAvro(Shard shard);

  @Mapping(target = "region", source = "avro")
  @Mapping(target = "withCacheShare", ignore = true)
  Shard fromAvro(io.shardtide.avro.Shard avro);

  @Mapping(target = ".", source = "overlap")
  @Mapping(target = ".", source = "overlap.region")
  io.shardtide.avro.Move toAvro(Transfer move);

  @Mapping(target = "overlap", source = "avro")
  Transfer fromAvro(io.shardtide.avro.Move avro);

  @Mapping(target = "region", source = "avro")
  Overlap overlap(io.shardtide.avro.Move avro);
}
