package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.state.SpeedHistory;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

/** Slow devices. */
@Mapper(config = AvroMapping.class)
interface SpeedMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  SpeedMapping INSTANCE = new SpeedMappingImpl();

  io.shardtide.avro.DeviceSpeeds toAvro(DeviceSpeeds speeds);

  DeviceSpeeds fromAvro(io.shardtide.avro.DeviceSpeeds avro);

  io.shardtide.avro.DeviceSpeed toAvro(DeviceSpeed speed);

  @Mapping(target = "of", ignore = true)
  DeviceSpeed fromAvro(io.shardtide.avro.DeviceSpeed avro);

  @Mapping(target = "device", source = "position")
  io.shardtide.avro.SpeedHistory toAvro(SpeedHistory history);

  @Mapping(target = "position", source = "device")
  @Mapping(target = "at", ignore = true)
  SpeedHistory fromAvro(io.shardtide.avro.SpeedHistory avro);
}
