package io.shardtide.wire;

import io.shardtide.avro.GroupCollective;
import io.shardtide.avro.MeasuredComputation;
import io.shardtide.avro.MeasuredExchange;
import io.shardtide.avro.ShardPlacement;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.DeviceShard;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.TableSpec;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

final class CostSampleMapping {
  private CostSampleMapping() {}

  static io.shardtide.avro.CostSample toAvro(CostSample sample) {
    return new io.shardtide.avro.CostSample(
        sample.measurementId(),
        sample.hardware(),
        sample.workloadId(),
        sample.planId(),
        sample.modelId(),
        sample.source(),
        sample.batchSize(),
        sample.steps(),
        sample.measuredAt().truncatedTo(ChronoUnit.MILLIS),
        sample.cost() instanceof CostSample.Computation computation
            ? new MeasuredComputation(
                computation.device(),
                computation.shards().stream().map(s -> SpecMapping.toAvro(s.table())).toList(),
                computation.shards().stream()
                    .map(
                        s ->
                            new ShardPlacement(
                                s.samples(),
                                s.rowShare(),
                                s.replicated(),
                                Nullable.of(s.cacheShare())))
                    .toList(),
                computation.measuredMs(),
                Nullable.of(computation.measuredForwardMs()),
                computation.predictedMs())
            : communicationToAvro((CostSample.StepCommunication) sample.cost()));
  }

  private static MeasuredExchange communicationToAvro(CostSample.StepCommunication communication) {
    return new MeasuredExchange(
        communication.columns(),
        communication.devicesPerNode(),
        communication.forwardBytesPerElement(),
        communication.backwardBytesPerElement(),
        MeasuredCostsMapping.devicesToAvro(communication.measured()),
        MeasuredCostsMapping.devicesToAvro(communication.predicted()),
        communication.forwardMs(),
        communication.backwardMs(),
        communication.collectives().stream()
            .map(
                c ->
                    new GroupCollective(
                        c.collective().fileName(),
                        c.direction().fileName(),
                        c.devices(),
                        c.devicesPerNode(),
                        c.bytes(),
                        c.ms()))
            .toList(),
        communication.onlyAllToAll());
  }

  static CostSample fromAvro(io.shardtide.avro.CostSample avro) {
    return CostSampleBuilder.builder()
        .measurementId(avro.getMeasurementId())
        .hardware(avro.getHardware())
        .workloadId(avro.getWorkloadId())
        .planId(avro.getPlanId())
        .modelId(avro.getModelId())
        .source(avro.getSource())
        .batchSize(avro.getBatchSize())
        .steps(avro.getSteps())
        .measuredAt(avro.getMeasuredAt())
        .cost(
            avro.getCost() instanceof MeasuredComputation computation
                ? new CostSample.Computation(
                    computation.getDevice(),
                    shards(computation, avro.getBatchSize()),
                    computation.getMeasuredMs(),
                    Nullable.optional(computation.getMeasuredForwardMs()),
                    computation.getPredictedMs())
                : communicationFromAvro((MeasuredExchange) avro.getCost()))
        .build();
  }

  /** Returns the shards; samples of earlier versions have whole rows on one device. */
  private static List<DeviceShard> shards(MeasuredComputation avro, int batchSize) {
    int shards = avro.getShards().size();
    List<ShardPlacement> placements = avro.getPlacements();
    if (!placements.isEmpty() && placements.size() != shards) {
      throw new IllegalArgumentException(
          "placements must be none or one for each of %d shards, got %d"
              .formatted(shards, placements.size()));
    }
    List<DeviceShard> read = new ArrayList<>();
    for (int i = 0; i < shards; i++) {
      TableSpec table = SpecMapping.fromAvro(avro.getShards().get(i));
      if (placements.isEmpty()) {
        read.add(DeviceShard.ofColumns(table, batchSize));
      } else {
        ShardPlacement placement = placements.get(i);
        read.add(
            new DeviceShard(
                table,
                placement.getSamples(),
                placement.getRowShare(),
                placement.getReplicated(),
                Nullable.optional(placement.getCacheShare())));
      }
    }
    return read;
  }

  private static CostSample.StepCommunication communicationFromAvro(MeasuredExchange avro) {
    return new CostSample.StepCommunication(
        avro.getColumns(),
        avro.getDevicesPerNode() == 0 ? avro.getColumns().size() : avro.getDevicesPerNode(),
        avro.getForwardBytesPerElement(),
        avro.getBackwardBytesPerElement(),
        MeasuredCostsMapping.devicesFromAvro(avro.getMeasured()),
        MeasuredCostsMapping.devicesFromAvro(avro.getPredicted()),
        avro.getForwardMs(),
        avro.getBackwardMs(),
        avro.getCollectives().stream().map(CostSampleMapping::fromAvro).toList(),
        avro.getOnlyAllToAll());
  }

  private static CostSample.GroupCollective fromAvro(GroupCollective avro) {
    return new CostSample.GroupCollective(
        known("collective", Collective.ofFileName(avro.getCollective()), avro.getCollective()),
        known("direction", Direction.ofFileName(avro.getDirection()), avro.getDirection()),
        avro.getDevices(),
        avro.getDevicesPerNode(),
        avro.getBytes(),
        avro.getMs());
  }

  private static <T> T known(String what, Optional<T> found, String name) {
    return found.orElseThrow(
        () -> new IllegalArgumentException("unknown %s %s".formatted(what, name)));
  }
}
