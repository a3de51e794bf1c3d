package io.shardtide.wire;

import io.shardtide.domain.Bottleneck;
import io.shardtide.domain.CacheMisses;
import io.shardtide.domain.CollectiveCodec;
import io.shardtide.domain.ColumnCuts;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.Direction;
import io.shardtide.domain.Effort;
import io.shardtide.domain.Explanation;
import io.shardtide.domain.GroupLayout;
import io.shardtide.domain.Insight;
import io.shardtide.domain.Move;
import io.shardtide.domain.MoveStep;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.PlanMoves;
import io.shardtide.domain.PlanOrigin;
import io.shardtide.domain.PlanPrediction;
import io.shardtide.domain.Region;
import io.shardtide.domain.ReplicaGroups;
import io.shardtide.domain.Replication;
import io.shardtide.domain.SearchRun;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.UseKnowledge;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

final class ShardingPlanMapping {
  private ShardingPlanMapping() {}

  static io.shardtide.avro.ShardingPlan toAvro(ShardingPlan plan) {
    SearchSettings settings = plan.settings();
    return io.shardtide.avro.ShardingPlan.newBuilder()
        .setPlanId(plan.planId())
        .setWorkloadId(plan.workloadId())
        .setGeneration(plan.generation())
        .setFirstGeneration(plan.firstGeneration())
        .setEffort(io.shardtide.avro.Effort.valueOf(plan.effort().name()))
        .setSource(SpecMapping.toAvro(plan.source()))
        .setModelId(plan.modelId())
        .setSettings(
            new io.shardtide.avro.SearchSettings(
                settings.evaluationsPerTable(),
                settings.repairEvaluations(),
                settings.moveGigabytesPerSecond(),
                settings.moveOverheadMs(),
                settings.paybackSteps(),
                settings.reshardMs(),
                io.shardtide.avro.ColumnCuts.valueOf(settings.columnCuts().name()),
                settings.risk()))
        .setPreviousPlanId(plan.previousPlanId().orElse(null))
        .setReason(plan.reason())
        .setShards(plan.shards().stream().map(ShardingPlanMapping::toAvro).toList())
        .setReplication(
            new io.shardtide.avro.Replication(
                plan.groups().count(),
                io.shardtide.avro.GroupLayout.valueOf(plan.groups().layout().name()),
                plan.replication().synchronizationSteps(),
                plan.replication().synchronizationMs()))
        .setCodecs(plan.codecs().stream().map(ShardingPlanMapping::toAvro).toList())
        .setDeviceCosts(
            plan.deviceCosts().stream()
                .map(
                    cost ->
                        new io.shardtide.avro.DeviceCost(
                            cost.computeMs(),
                            cost.forwardCommMs(),
                            cost.backwardCommMs(),
                            cost.memoryBytes(),
                            cost.hostMemoryBytes()))
                .toList())
        .setSlow(SpeedMapping.toAvro(plan.slow()))
        .setPredictedMs(plan.predictedMs())
        .setMoves(plan.moves().stream().map(ShardingPlanMapping::toAvro).toList())
        .setMoveOrder(plan.moveOrder().stream().map(ShardingPlanMapping::toAvro).toList())
        .setMovedBytes(plan.movedBytes())
        .setLowerBoundMs(plan.insight().lowerBoundMs())
        .setUncertaintyMs(plan.insight().uncertaintyMs())
        .setBottleneck(toAvro(plan.insight().bottleneck()))
        .setExplanations(
            plan.insight().explanations().stream().map(ShardingPlanMapping::toAvro).toList())
        .setOutOfRange(plan.outOfRange().stream().map(SpecMapping::toAvro).toList())
        .setOutOfRangeCount(plan.outOfRangeCount())
        .setCacheMisses(
            plan.cacheMisses().stream()
                .map(
                    of ->
                        new io.shardtide.avro.CacheMisses(
                            of.table(),
                            of.lookupShare(),
                            io.shardtide.avro.UseKnowledge.valueOf(of.known().name())))
                .toList())
        .setEvaluations(plan.evaluations())
        .setSearchMillis(plan.searchMillis())
        .setCreatedAt(plan.createdAt().truncatedTo(ChronoUnit.MILLIS))
        .build();
  }

  static ShardingPlan fromAvro(io.shardtide.avro.ShardingPlan avro) {
    io.shardtide.avro.SearchSettings settings = avro.getSettings();
    return new ShardingPlan(
        avro.getPlanId(),
        new PlanOrigin(
            avro.getWorkloadId(),
            avro.getGeneration(),
            avro.getFirstGeneration(),
            Effort.valueOf(avro.getEffort().name()),
            SpecMapping.fromAvro(avro.getSource()),
            avro.getModelId(),
            new SearchSettings(
                settings.getEvaluationsPerTable(),
                settings.getRepairEvaluations(),
                settings.getMoveGigabytesPerSecond(),
                settings.getMoveOverheadMs(),
                settings.getReshardMs(),
                settings.getPaybackSteps(),
                ColumnCuts.valueOf(settings.getColumnCuts().name()),
                settings.getRisk()),
            Optional.ofNullable(avro.getPreviousPlanId()),
            SpeedMapping.fromAvro(avro.getSlow())),
        avro.getReason(),
        avro.getShards().stream().map(ShardingPlanMapping::fromAvro).toList(),
        fromAvro(avro.getReplication()),
        avro.getCodecs().stream().map(ShardingPlanMapping::fromAvro).toList(),
        new PlanPrediction(
            avro.getDeviceCosts().stream()
                .map(
                    cost ->
                        new DeviceCost(
                            cost.getComputeMs(),
                            cost.getForwardCommMs(),
                            cost.getBackwardCommMs(),
                            cost.getMemoryBytes(),
                            cost.getHostMemoryBytes()))
                .toList(),
            avro.getPredictedMs(),
            new Insight(
                avro.getLowerBoundMs(),
                avro.getUncertaintyMs(),
                fromAvro(avro.getBottleneck()),
                avro.getExplanations().stream().map(ShardingPlanMapping::fromAvro).toList()),
            avro.getOutOfRange().stream().map(SpecMapping::fromAvro).toList(),
            avro.getOutOfRangeCount(),
            avro.getCacheMisses().stream()
                .map(
                    of ->
                        new CacheMisses(
                            of.getTable(),
                            of.getLookupShare(),
                            UseKnowledge.valueOf(of.getKnown().name())))
                .toList()),
        new PlanMoves(
            avro.getMoves().stream().map(ShardingPlanMapping::fromAvro).toList(),
            avro.getMoveOrder().stream().map(ShardingPlanMapping::fromAvro).toList()),
        new SearchRun(avro.getEvaluations(), avro.getSearchMillis(), avro.getCreatedAt()));
  }

  private static io.shardtide.avro.CollectiveCodec toAvro(CollectiveCodec codec) {
    return new io.shardtide.avro.CollectiveCodec(
        codec.scope().fileName(),
        codec.direction().fileName(),
        SpecMapping.toAvro(codec.codec()),
        codec.savedMs());
  }

  private static CollectiveCodec fromAvro(io.shardtide.avro.CollectiveCodec codec) {
    return new CollectiveCodec(
        ShardScope.ofFileName(codec.getScope()).orElseThrow(),
        Direction.ofFileName(codec.getDirection()).orElseThrow(),
        SpecMapping.fromAvro(codec.getCodec()),
        codec.getSavedMs());
  }

  private static Replication fromAvro(io.shardtide.avro.Replication replication) {
    return new Replication(
        new ReplicaGroups(
            replication.getGroups(), GroupLayout.valueOf(replication.getLayout().name())),
        replication.getSynchronizationSteps(),
        replication.getSynchronizationMs());
  }

  private static io.shardtide.avro.Shard toAvro(Shard shard) {
    return new io.shardtide.avro.Shard(
        shard.table(),
        io.shardtide.avro.ShardKind.valueOf(shard.kind().name()),
        shard.columnOffset(),
        shard.columns(),
        shard.rowOffset(),
        shard.rows(),
        shard.device(),
        Nullable.of(shard.cacheShare()));
  }

  private static Shard fromAvro(io.shardtide.avro.Shard shard) {
    return new Shard(
        shard.getTable(),
        new Region(
            shard.getColumnOffset(), shard.getColumns(), shard.getRowOffset(), shard.getRows()),
        shard.getDevice(),
        ShardKind.valueOf(shard.getKind().name()),
        Nullable.optional(shard.getCacheShare()));
  }

  private static io.shardtide.avro.Move toAvro(Move move) {
    return new io.shardtide.avro.Move(
        move.table(),
        move.region().columnOffset(),
        move.region().columns(),
        move.region().rowOffset(),
        move.region().rows(),
        move.fromDevice(),
        move.toDevice(),
        move.bytes());
  }

  private static Move fromAvro(io.shardtide.avro.Move move) {
    return new Move(
        new Overlap(
            move.getTable(),
            new Region(
                move.getColumnOffset(), move.getColumns(), move.getRowOffset(), move.getRows()),
            move.getFromDevice(),
            move.getToDevice()),
        move.getBytes());
  }

  private static io.shardtide.avro.MoveStep toAvro(MoveStep step) {
    return new io.shardtide.avro.MoveStep(
        step.move(), io.shardtide.avro.MoveStage.valueOf(step.stage().name()));
  }

  private static MoveStep fromAvro(io.shardtide.avro.MoveStep step) {
    return new MoveStep(step.getMove(), MoveStep.Stage.valueOf(step.getStage().name()));
  }

  private static io.shardtide.avro.Bottleneck toAvro(Bottleneck bottleneck) {
    return new io.shardtide.avro.Bottleneck(
        bottleneck.device(),
        io.shardtide.avro.Cause.valueOf(bottleneck.cause().name()),
        bottleneck.table(),
        bottleneck.gainMs());
  }

  private static Bottleneck fromAvro(io.shardtide.avro.Bottleneck bottleneck) {
    return new Bottleneck(
        bottleneck.getDevice(),
        Explanation.Cause.valueOf(bottleneck.getCause().name()),
        bottleneck.getTable(),
        bottleneck.getGainMs());
  }

  private static io.shardtide.avro.Explanation toAvro(Explanation explanation) {
    return new io.shardtide.avro.Explanation(
        io.shardtide.avro.ExplanationKind.valueOf(explanation.kind().name()),
        explanation.table(),
        explanation.fromDevice(),
        explanation.toDevice(),
        io.shardtide.avro.Cause.valueOf(explanation.cause().name()),
        explanation.gainMs());
  }

  private static Explanation fromAvro(io.shardtide.avro.Explanation explanation) {
    return new Explanation(
        Explanation.ExplainedAction.valueOf(explanation.getKind().name()),
        explanation.getTable(),
        explanation.getFromDevice(),
        explanation.getToDevice(),
        Explanation.Cause.valueOf(explanation.getCause().name()),
        explanation.getGainMs());
  }
}
