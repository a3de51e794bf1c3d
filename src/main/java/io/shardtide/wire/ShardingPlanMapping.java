package io.shardtide.wire;

import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.Move;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.ShardingPlan;
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
        .setSource(SpecMapping.toAvro(plan.source()))
        .setModelId(plan.modelId())
        .setSettings(
            new io.shardtide.avro.SearchSettings(
                settings.beamWidth(),
                settings.candidates(),
                settings.levels(),
                settings.gridPoints(),
                settings.gridStart(),
                settings.gridEnd()))
        .setPreviousPlanId(plan.previousPlanId().orElse(null))
        .setReason(plan.reason())
        .setShards(plan.shards().stream().map(ShardingPlanMapping::toAvro).toList())
        .setDeviceCosts(
            plan.deviceCosts().stream()
                .map(
                    cost ->
                        new io.shardtide.avro.DeviceCost(
                            cost.computeMs(),
                            cost.forwardCommMs(),
                            cost.backwardCommMs(),
                            cost.memoryBytes()))
                .toList())
        .setPredictedMs(plan.predictedMs())
        .setMoves(plan.moves().stream().map(ShardingPlanMapping::toAvro).toList())
        .setMovedBytes(plan.movedBytes())
        .setEvaluations(plan.evaluations())
        .setSearchMillis(plan.searchMillis())
        .setCreatedAt(plan.createdAt().truncatedTo(ChronoUnit.MILLIS))
        .build();
  }

  static ShardingPlan fromAvro(io.shardtide.avro.ShardingPlan avro) {
    io.shardtide.avro.SearchSettings settings = avro.getSettings();
    return new ShardingPlan(
        avro.getPlanId(),
        avro.getWorkloadId(),
        avro.getGeneration(),
        SpecMapping.fromAvro(avro.getSource()),
        avro.getModelId(),
        new SearchSettings(
            settings.getBeamWidth(),
            settings.getCandidates(),
            settings.getLevels(),
            settings.getGridPoints(),
            settings.getGridStart(),
            settings.getGridEnd()),
        Optional.ofNullable(avro.getPreviousPlanId()),
        avro.getReason(),
        avro.getShards().stream().map(ShardingPlanMapping::fromAvro).toList(),
        avro.getDeviceCosts().stream()
            .map(
                cost ->
                    new DeviceCost(
                        cost.getComputeMs(),
                        cost.getForwardCommMs(),
                        cost.getBackwardCommMs(),
                        cost.getMemoryBytes()))
            .toList(),
        avro.getPredictedMs(),
        avro.getMoves().stream().map(ShardingPlanMapping::fromAvro).toList(),
        avro.getEvaluations(),
        avro.getSearchMillis(),
        avro.getCreatedAt());
  }

  private static io.shardtide.avro.Shard toAvro(Shard shard) {
    return new io.shardtide.avro.Shard(
        shard.table(),
        io.shardtide.avro.ShardKind.valueOf(shard.kind().name()),
        shard.columnOffset(),
        shard.columns(),
        shard.rowOffset(),
        shard.rows(),
        shard.device());
  }

  private static Shard fromAvro(io.shardtide.avro.Shard shard) {
    return new Shard(
        shard.getTable(),
        ShardKind.valueOf(shard.getKind().name()),
        shard.getColumnOffset(),
        shard.getColumns(),
        shard.getRowOffset(),
        shard.getRows(),
        shard.getDevice());
  }

  private static io.shardtide.avro.Move toAvro(Move move) {
    return new io.shardtide.avro.Move(
        move.table(),
        move.columnOffset(),
        move.columns(),
        move.rowOffset(),
        move.rows(),
        move.fromDevice(),
        move.toDevice(),
        move.bytes());
  }

  private static Move fromAvro(io.shardtide.avro.Move move) {
    return new Move(
        move.getTable(),
        move.getColumnOffset(),
        move.getColumns(),
        move.getRowOffset(),
        move.getRows(),
        move.getFromDevice(),
        move.getToDevice(),
        move.getBytes());
  }
}
