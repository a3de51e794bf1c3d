package io.shardtide.plan;

import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.SpecHash;

/**
 * The id of a plan: a hash over its content, written field by field. Tables and clusters are not in
 * it, whatever fields they get: what follows from them is, shards, costs, bytes and moves.
 */
final class PlanHash {
  /** The format of ids: it changes with what an id covers, the words of texts included. */
  private static final String FORMAT = "ShardingPlan/8";

  /** In place of the cache share of a shard that is not cached. */
  private static final double NO_CACHE = -1;

  private PlanHash() {}

  static String of(ShardingPlan plan) {
    CanonicalHash hash =
        new CanonicalHash(FORMAT)
            .put(plan.workloadId())
            .put(plan.generation())
            .put(plan.origin().firstGeneration())
            .put(plan.origin().effort().name())
            .put(plan.origin().modelId())
            .put(plan.origin().settings().evaluationsPerTable())
            .put(plan.origin().settings().repairEvaluations())
            .put(plan.origin().settings().moveGigabytesPerSecond())
            .put(plan.origin().settings().moveOverheadMs())
            .put(plan.origin().settings().paybackSteps())
            .put(plan.origin().settings().reshardMs())
            .put(plan.origin().settings().columnCuts().name())
            .put(plan.origin().settings().risk())
            .put(plan.prediction().insight().uncertaintyMs())
            .put(plan.groups().count())
            .put(plan.groups().layout().name())
            .put(plan.replication().synchronizationSteps())
            .put(plan.replication().synchronizationMs());
    hash.putAll(
        plan.origin().slow(),
        speed ->
            hash.put(speed.device())
                .put(speed.part().name())
                .put(speed.slowdown())
                .put(speed.standardError())
                .put(speed.since().toEpochMilli()));
    hash.put(plan.origin().previousPlanId().orElse(""))
        .put(plan.reason())
        .put(plan.predictedMs())
        .put(plan.run().evaluations())
        .put(plan.prediction().outOfRangeCount())
        .put(plan.prediction().insight().lowerBoundMs())
        .put(plan.prediction().insight().bottleneck().device())
        .put(plan.prediction().insight().bottleneck().cause().name())
        .put(plan.prediction().insight().bottleneck().table())
        .put(plan.prediction().insight().bottleneck().gainMs());
    hash.putAll(
        plan.shards(),
        shard -> {
          hash.put(shard.table())
              .put(shard.kind().name())
              .put(shard.columnOffset())
              .put(shard.columns())
              .put(shard.rowOffset())
              .put(shard.rows())
              .put(shard.device())
              .put(shard.cacheShare().orElse(NO_CACHE));
        });
    hash.putAll(
        plan.prediction().deviceCosts(),
        cost -> {
          hash.put(cost.computeMs())
              .put(cost.forwardCommMs())
              .put(cost.backwardCommMs())
              .put(cost.memoryBytes())
              .put(cost.hostMemoryBytes());
        });
    hash.putAll(
        plan.transition().moves(),
        move ->
            hash.put(move.table())
                .put(move.region().columnOffset())
                .put(move.region().columns())
                .put(move.region().rowOffset())
                .put(move.region().rows())
                .put(move.fromDevice())
                .put(move.toDevice())
                .put(move.bytes()));
    hash.putAll(
        plan.transition().moveOrder(), step -> hash.put(step.move()).put(step.stage().name()));
    hash.putAll(
        plan.prediction().outOfRange(),
        place ->
            hash.put(place.subject())
                .put(place.quantity())
                .put(place.value())
                .put(place.min())
                .put(place.max()));
    hash.putAll(
        plan.prediction().insight().explanations(),
        explanation ->
            hash.put(explanation.kind().name())
                .put(explanation.table())
                .put(explanation.fromDevice())
                .put(explanation.toDevice())
                .put(explanation.cause().name())
                .put(explanation.gainMs()));
    hash.putAll(
        plan.prediction().cacheMisses(),
        misses -> hash.put(misses.table()).put(misses.lookupShare()).put(misses.known().name()));
    // Ids of plans without codecs are those of versions that had none.
    if (!plan.codecs().isEmpty()) {
      hash.putAll(
          plan.codecs(),
          of -> {
            hash.put(of.scope().name()).put(of.direction().name()).put(of.savedMs());
            SpecHash.put(hash, of.codec());
          });
    }
    // Likewise of plans without kernels.
    if (!plan.kernels().isEmpty()) {
      hash.putAll(
          plan.kernels(),
          of ->
              SpecHash.put(hash.put("kernel").put(of.table()), of.kernel())
                  .put(of.enforceHbm() ? 1 : 0));
    }
    return hash.hex();
  }
}
