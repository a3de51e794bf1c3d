package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.plan.PlanStatus;
import io.shardtide.state.AcceptedStatus;
import org.mapstruct.InheritInverseConfiguration;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

@Mapper(config = AvroMapping.class)
interface PlanStatusMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  PlanStatusMapping INSTANCE = new PlanStatusMappingImpl();

  @Mapping(target = "status", source = "kind")
  io.shardtide.avro.PlanStatus toAvro(PlanStatus status);

  @InheritInverseConfiguration
  PlanStatus fromAvro(io.shardtide.avro.PlanStatus avro);

  io.shardtide.avro.AcceptedStatus toAvro(AcceptedStatus accepted);

  AcceptedStatus fromAvro(io.shardtide.avro.AcceptedStatus avro);
}
