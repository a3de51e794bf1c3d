package io.shardtide.wire;

import io.shardtide.domain.MeasuredCollective;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.MeasuredCostsBuilder;
import io.shardtide.domain.MeasuredDevice;
import java.time.temporal.ChronoUnit;
import java.util.List;

final class MeasuredCostsMapping {
  private MeasuredCostsMapping() {}

  static io.shardtide.avro.MeasuredCosts toAvro(MeasuredCosts costs) {
    return new io.shardtide.avro.MeasuredCosts(
        costs.measurementId(),
        costs.workloadId(),
        costs.planId(),
        costs.run(),
        costs.step(),
        costs.steps(),
        devicesToAvro(costs.devices()),
        costs.collectives().stream().map(MeasuredCostsMapping::toAvro).toList(),
        costs.source(),
        costs.measuredAt().truncatedTo(ChronoUnit.MILLIS));
  }

  static MeasuredCosts fromAvro(io.shardtide.avro.MeasuredCosts avro) {
    return MeasuredCostsBuilder.builder()
        .measurementId(avro.getMeasurementId())
        .workloadId(avro.getWorkloadId())
        .planId(avro.getPlanId())
        .run(avro.getRun())
        .step(avro.getStep())
        .steps(avro.getSteps())
        .devices(devicesFromAvro(avro.getDevices()))
        .collectives(
            avro.getCollectives().stream()
                .map(
                    c ->
                        MeasuredCollective.ofNames(
                            c.getScope(), c.getCollective(), c.getDirection(), c.getMs()))
                .toList())
        .source(avro.getSource())
        .measuredAt(avro.getMeasuredAt())
        .build();
  }

  private static io.shardtide.avro.MeasuredCollective toAvro(MeasuredCollective measured) {
    return new io.shardtide.avro.MeasuredCollective(
        measured.collective().fileName(),
        measured.direction().fileName(),
        measured.scope().fileName(),
        measured.ms());
  }

  static List<io.shardtide.avro.MeasuredDevice> devicesToAvro(List<MeasuredDevice> devices) {
    return devices.stream()
        .map(
            device ->
                new io.shardtide.avro.MeasuredDevice(
                    device.computeMs(),
                    device.forwardCommMs(),
                    device.backwardCommMs(),
                    Nullable.of(device.forwardComputeMs())))
        .toList();
  }

  static List<MeasuredDevice> devicesFromAvro(List<io.shardtide.avro.MeasuredDevice> avro) {
    return avro.stream()
        .map(
            device ->
                new MeasuredDevice(
                    device.getComputeMs(),
                    device.getForwardCommMs(),
                    device.getBackwardCommMs(),
                    Nullable.optional(device.getForwardComputeMs())))
        .toList();
  }
}
