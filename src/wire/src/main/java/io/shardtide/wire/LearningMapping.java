package io.shardtide.wire;

import io.shardtide.avro.DriftKind;
import io.shardtide.avro.TrainingTrigger;
import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.DriftAlarmBuilder;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.ModelDecisionBuilder;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.OptionalInt;

/** What the learning loop says: alarms and decisions. */
final class LearningMapping {
  private LearningMapping() {}

  static io.shardtide.avro.DriftAlarm toAvro(DriftAlarm alarm) {
    return new io.shardtide.avro.DriftAlarm(
        alarm.hardware(),
        alarm.modelId(),
        DriftKind.valueOf(alarm.kind().name()),
        io.shardtide.avro.CostQuantity.valueOf(alarm.quantity().name()),
        alarm.workloadId(),
        alarm.device().isPresent() ? alarm.device().getAsInt() : null,
        alarm.planId(),
        alarm.detector(),
        alarm.samples(),
        alarm.usualRatio(),
        alarm.recentRatio(),
        alarm.measuredAt().truncatedTo(ChronoUnit.MILLIS));
  }

  static DriftAlarm fromAvro(io.shardtide.avro.DriftAlarm avro) {
    return DriftAlarmBuilder.builder()
        .hardware(avro.getHardware())
        .modelId(avro.getModelId())
        .kind(DriftAlarm.AlarmKind.valueOf(avro.getKind().name()))
        .quantity(CostQuantity.valueOf(avro.getQuantity().name()))
        .workloadId(avro.getWorkloadId())
        .device(avro.getDevice() == null ? OptionalInt.empty() : OptionalInt.of(avro.getDevice()))
        .planId(avro.getPlanId())
        .detector(avro.getDetector())
        .samples(avro.getSamples())
        .usualRatio(avro.getUsualRatio())
        .recentRatio(avro.getRecentRatio())
        .measuredAt(avro.getMeasuredAt())
        .build();
  }

  static io.shardtide.avro.ModelDecision toAvro(ModelDecision decision) {
    return new io.shardtide.avro.ModelDecision(
        decision.hardware(),
        TrainingTrigger.valueOf(decision.trigger().name()),
        decision.championId(),
        decision.challengerId().orElse(null),
        decision.published(),
        decision.recentSamples(),
        decision.oldSamples(),
        Nullable.of(decision.championRecentError()),
        Nullable.of(decision.challengerRecentError()),
        Nullable.of(decision.championOldError()),
        Nullable.of(decision.challengerOldError()),
        Nullable.of(decision.championPlanLoss()),
        Nullable.of(decision.challengerPlanLoss()),
        decision.reason(),
        decision.decidedAt().truncatedTo(ChronoUnit.MILLIS));
  }

  static ModelDecision fromAvro(io.shardtide.avro.ModelDecision avro) {
    return ModelDecisionBuilder.builder()
        .hardware(avro.getHardware())
        .trigger(ModelDecision.Trigger.valueOf(avro.getTrigger().name()))
        .championId(avro.getChampionId())
        .challengerId(Optional.ofNullable(avro.getChallengerId()))
        .published(avro.getPublished())
        .recentSamples(avro.getRecentSamples())
        .oldSamples(avro.getOldSamples())
        .championRecentError(Nullable.optional(avro.getChampionRecentError()))
        .challengerRecentError(Nullable.optional(avro.getChallengerRecentError()))
        .championOldError(Nullable.optional(avro.getChampionOldError()))
        .challengerOldError(Nullable.optional(avro.getChallengerOldError()))
        .championPlanLoss(Nullable.optional(avro.getChampionPlanLoss()))
        .challengerPlanLoss(Nullable.optional(avro.getChallengerPlanLoss()))
        .reason(avro.getReason())
        .decidedAt(avro.getDecidedAt())
        .build();
  }
}
