package io.shardtide.wire;

import io.shardtide.domain.DeviceSpeed;
import io.shardtide.domain.DeviceSpeeds;
import io.shardtide.domain.PositionSpeed;
import io.shardtide.domain.SpeedHistory;
import io.shardtide.models.AvroMapping;
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

  DeviceSpeed fromAvro(io.shardtide.avro.DeviceSpeed avro);

  @Mapping(target = "device", source = "position.number")
  @Mapping(target = "slow", source = "history")
  io.shardtide.avro.SpeedHistory toAvro(SpeedHistory history);

  @Mapping(target = "position.number", source = "device")
  SpeedHistory fromAvro(io.shardtide.avro.SpeedHistory avro);

  PositionSpeed position(io.shardtide.avro.DeviceSpeed avro);

  default io.shardtide.avro.DeviceSpeed slow(SpeedHistory history) {
    return history
        .slow()
        .map(slow -> toAvro(slow.of(history.position().number(), history.part())))
        .orElse(null);
  }
}
