package io.shardtide.wire;

import io.shardtide.domain.PlanningHeader;
import io.shardtide.domain.PlanningHeader.PredictedGeneration;
import java.util.Optional;

final class PlanningHeaderMapping {
  private PlanningHeaderMapping() {}

  static io.shardtide.avro.PlanningHeader toAvro(PlanningHeader header) {
    return new io.shardtide.avro.PlanningHeader(
        header
            .predicted()
            .map(
                p ->
                    new io.shardtide.avro.PredictedGeneration(
                        p.generation(),
                        SpecMapping.toAvro(p.source()),
                        p.modelId(),
                        SpecMapping.toAvro(p.cluster())))
            .orElse(null),
        header.isPartial(),
        header.answered(),
        header.waits(),
        header.modelChanged(),
        header.deepening(),
        RememberedPlansMapping.toAvro(header.plans()));
  }

  static PlanningHeader fromAvro(io.shardtide.avro.PlanningHeader avro) {
    return new PlanningHeader(
        Optional.ofNullable(avro.getGeneration())
            .map(
                p ->
                    new PredictedGeneration(
                        p.getGeneration(),
                        SpecMapping.fromAvro(p.getSource()),
                        p.getModelId(),
                        SpecMapping.fromAvro(p.getCluster()))),
        avro.getIsPartial(),
        avro.getAnswered(),
        avro.getWaits(),
        avro.getModelChanged(),
        avro.getDeepening(),
        RememberedPlansMapping.fromAvro(avro.getPlans()));
  }
}
