package io.shardtide.wire;

import io.shardtide.avro.MeasuredComputation;
import io.shardtide.avro.MeasuredExchange;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import java.time.temporal.ChronoUnit;

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
                computation.shards().stream().map(SpecMapping::toAvro).toList(),
                computation.measuredMs(),
                LearningMapping.boxed(computation.measuredForwardMs()),
                computation.predictedMs())
            : exchangeToAvro((CostSample.AllToAll) sample.cost()));
  }

  private static MeasuredExchange exchangeToAvro(CostSample.AllToAll exchange) {
    return new MeasuredExchange(
        exchange.columns(),
        exchange.devicesPerNode(),
        exchange.forwardBytesPerElement(),
        exchange.backwardBytesPerElement(),
        MeasuredCostsMapping.devicesToAvro(exchange.measured()),
        MeasuredCostsMapping.devicesToAvro(exchange.predicted()),
        exchange.forwardMs(),
        exchange.backwardMs());
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
                    computation.getShards().stream().map(SpecMapping::fromAvro).toList(),
                    computation.getMeasuredMs(),
                    LearningMapping.optional(computation.getMeasuredForwardMs()),
                    computation.getPredictedMs())
                : exchangeFromAvro((MeasuredExchange) avro.getCost()))
        .build();
  }

  private static CostSample.AllToAll exchangeFromAvro(MeasuredExchange avro) {
    return new CostSample.AllToAll(
        avro.getColumns(),
        avro.getDevicesPerNode() == 0 ? avro.getColumns().size() : avro.getDevicesPerNode(),
        avro.getForwardBytesPerElement(),
        avro.getBackwardBytesPerElement(),
        MeasuredCostsMapping.devicesFromAvro(avro.getMeasured()),
        MeasuredCostsMapping.devicesFromAvro(avro.getPredicted()),
        avro.getForwardMs(),
        avro.getBackwardMs());
  }
}
