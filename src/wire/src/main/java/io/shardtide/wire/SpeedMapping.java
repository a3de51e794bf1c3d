package io.shardtide.wire;

import io.shardtide.domain.CostPart;
import io.shardtide.domain.DeviceSpeed;
import io.shardtide.domain.DeviceSpeeds;
import io.shardtide.domain.Position;
import io.shardtide.domain.PositionSpeed;
import io.shardtide.domain.SpeedHistory;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;

/** Slow devices. */
final class SpeedMapping {
  private SpeedMapping() {}

  static io.shardtide.avro.DeviceSpeeds toAvro(DeviceSpeeds speeds) {
    return new io.shardtide.avro.DeviceSpeeds(
        speeds.workloadId(),
        speeds.planId(),
        speeds.measuredAt().truncatedTo(ChronoUnit.MILLIS),
        toAvro(speeds.slow()));
  }

  static DeviceSpeeds fromAvro(io.shardtide.avro.DeviceSpeeds avro) {
    return new DeviceSpeeds(
        avro.getWorkloadId(), avro.getPlanId(), avro.getMeasuredAt(), fromAvro(avro.getSlow()));
  }

  static List<io.shardtide.avro.DeviceSpeed> toAvro(List<DeviceSpeed> slow) {
    return slow.stream().map(SpeedMapping::toAvro).toList();
  }

  static List<DeviceSpeed> fromAvro(List<io.shardtide.avro.DeviceSpeed> slow) {
    return slow.stream().map(SpeedMapping::fromAvro).toList();
  }

  static io.shardtide.avro.SpeedHistory toAvro(SpeedHistory history) {
    return new io.shardtide.avro.SpeedHistory(
        history.position().number(),
        io.shardtide.avro.CostPart.valueOf(history.part().name()),
        history
            .slow()
            .map(slow -> toAvro(slow.of(history.position().number(), history.part())))
            .orElse(null),
        history.episodes(),
        history.fast());
  }

  static SpeedHistory fromAvro(io.shardtide.avro.SpeedHistory avro) {
    return new SpeedHistory(
        new Position(avro.getDevice()),
        CostPart.valueOf(avro.getPart().name()),
        Optional.ofNullable(avro.getSlow())
            .map(s -> new PositionSpeed(s.getSlowdown(), s.getStandardError(), s.getSince())),
        avro.getEpisodes(),
        avro.getFast());
  }

  private static io.shardtide.avro.DeviceSpeed toAvro(DeviceSpeed speed) {
    return new io.shardtide.avro.DeviceSpeed(
        speed.device(),
        io.shardtide.avro.CostPart.valueOf(speed.part().name()),
        speed.slowdown(),
        speed.standardError(),
        speed.since().truncatedTo(ChronoUnit.MILLIS));
  }

  private static DeviceSpeed fromAvro(io.shardtide.avro.DeviceSpeed avro) {
    return new DeviceSpeed(
        avro.getDevice(),
        CostPart.valueOf(avro.getPart().name()),
        avro.getSlowdown(),
        avro.getStandardError(),
        avro.getSince());
  }
}
