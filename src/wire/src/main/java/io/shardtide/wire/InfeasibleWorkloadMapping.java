package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.plan.ExpectedTime;
import io.shardtide.plan.InfeasibleWorkload;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

@Mapper(config = AvroMapping.class, uses = SpecMapping.class)
interface InfeasibleWorkloadMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  InfeasibleWorkloadMapping INSTANCE = new InfeasibleWorkloadMappingImpl();

  @Mapping(target = ".", source = "shortfall")
  io.shardtide.avro.InfeasibleWorkload toAvro(InfeasibleWorkload value);

  @Mapping(target = "shortfall", source = "avro")
  InfeasibleWorkload fromAvro(io.shardtide.avro.InfeasibleWorkload avro);

  io.shardtide.avro.ExpectedTime toAvro(ExpectedTime time);

  ExpectedTime fromAvro(io.shardtide.avro.ExpectedTime avro);
}
