package io.shardtide.wire;

import io.shardtide.domain.PlanHistory;
import java.util.Optional;
import java.util.OptionalLong;

final class PlanHistoryMapping {
  private PlanHistoryMapping() {}

  static io.shardtide.avro.RememberedPlans toAvro(PlanHistory plans) {
    return new io.shardtide.avro.RememberedPlans(
        plans.ids(),
        plans.adopted().orElse(null),
        plans.reportedStep().isPresent() ? plans.reportedStep().getAsLong() : null,
        plans.reportedRun());
  }

  static PlanHistory fromAvro(io.shardtide.avro.RememberedPlans avro) {
    Long step = avro.getReportedStep();
    return new PlanHistory(
        avro.getIds(),
        Optional.ofNullable(avro.getAdopted()),
        // In a store of its own: the version before could not read a new field.
        Optional.empty(),
        step == null ? OptionalLong.empty() : OptionalLong.of(step),
        avro.getReportedRun());
  }
}
