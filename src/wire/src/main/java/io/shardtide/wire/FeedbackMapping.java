package io.shardtide.wire;

import io.shardtide.domain.Baseline;
import io.shardtide.domain.FeedbackState;
import io.shardtide.domain.FeedbackState.MeasuredRun;
import io.shardtide.domain.ResidualWindow;
import io.shardtide.domain.VersionedTable;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

/** What feedback keeps of a workload. */
final class FeedbackMapping {
  private FeedbackMapping() {}

  static io.shardtide.avro.FeedbackHeader toAvro(FeedbackState header) {
    return new io.shardtide.avro.FeedbackHeader(
        header.cluster().map(SpecMapping::toAvro).orElse(null),
        header.batchSince(),
        PlanHistoryMapping.toAvro(header.plans()),
        header.measurements(),
        header.runs().stream()
            .map(run -> new io.shardtide.avro.MeasuredRun(run.run(), run.step()))
            .toList(),
        header.measuredPlan(),
        header.planMeasurements(),
        header.speeds().stream().map(SpeedMapping::toAvro).toList());
  }

  static FeedbackState fromAvro(io.shardtide.avro.FeedbackHeader avro) {
    return new FeedbackState(
        Optional.ofNullable(avro.getCluster()).map(SpecMapping::fromAvro),
        avro.getBatchSince(),
        PlanHistoryMapping.fromAvro(avro.getPlans()),
        avro.getMeasurements(),
        avro.getRuns().stream().map(run -> new MeasuredRun(run.getRun(), run.getStep())).toList(),
        avro.getMeasuredPlan(),
        avro.getPlanMeasurements(),
        avro.getSpeeds().stream().map(SpeedMapping::fromAvro).toList());
  }

  static io.shardtide.avro.ResidualWindow toAvro(ResidualWindow window) {
    return new io.shardtide.avro.ResidualWindow(
        window.modelId(),
        window
            .baseline()
            .map(b -> new io.shardtide.avro.Baseline(b.center(), b.noise()))
            .orElse(null),
        window.samples(),
        window.residuals(),
        window.slowIn().orElse(null),
        window.slowSince().map(since -> since.truncatedTo(ChronoUnit.MILLIS)).orElse(null),
        window.backIn().orElse(null));
  }

  static ResidualWindow fromAvro(io.shardtide.avro.ResidualWindow avro) {
    return new ResidualWindow(
        avro.getModelId(),
        Optional.ofNullable(avro.getBaseline()).map(b -> new Baseline(b.getCenter(), b.getNoise())),
        avro.getSamples(),
        avro.getResiduals(),
        Optional.ofNullable(avro.getSlowIn()),
        Optional.ofNullable(avro.getSlowSince()),
        Optional.ofNullable(avro.getBackIn()));
  }

  static io.shardtide.avro.DatedTable toAvro(VersionedTable dated) {
    return new io.shardtide.avro.DatedTable(SpecMapping.toAvro(dated.table()), dated.since());
  }

  static VersionedTable fromAvro(io.shardtide.avro.DatedTable avro) {
    return new VersionedTable(SpecMapping.fromAvro(avro.getTable()), avro.getSince());
  }
}
