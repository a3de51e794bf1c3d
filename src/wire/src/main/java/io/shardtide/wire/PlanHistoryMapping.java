package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.state.PlanHistory;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

@Mapper(config = AvroMapping.class)
interface PlanHistoryMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  PlanHistoryMapping INSTANCE = new PlanHistoryMappingImpl();

  io.shardtide.avro.RememberedPlans toAvro(PlanHistory plans);

  /**
   * The source of a move is in a store of its own: the version before could not read a new field.
   */
  @Mapping(target = "previous", expression = "java(java.util.Optional.empty())")
  @Mapping(target = "with", ignore = true)
  @Mapping(target = "without", ignore = true)
  PlanHistory fromAvro(io.shardtide.avro.RememberedPlans avro);
}
