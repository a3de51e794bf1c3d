package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.plan.MeasuredCollective;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredDevice;
import org.mapstruct.Mapper;

@Mapper(config = AvroMapping.class, uses = SpecMapping.class)
interface MeasuredCostsMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  MeasuredCostsMapping INSTANCE = new MeasuredCostsMappingImpl();

  io.shardtide.avro.MeasuredCosts toAvro(MeasuredCosts costs);

  MeasuredCosts fromAvro(io.shardtide.avro.MeasuredCosts avro);

  io.shardtide.avro.MeasuredDevice toAvro(MeasuredDevice device);

  MeasuredDevice fromAvro(io.shardtide.avro.MeasuredDevice avro);

  default MeasuredCollective fromAvro(io.shardtide.avro.MeasuredCollective avro) {
    return MeasuredCollective.ofNames(
        avro.getScope(), avro.getCollective(), avro.getDirection(), avro.getMs());
  }
}
