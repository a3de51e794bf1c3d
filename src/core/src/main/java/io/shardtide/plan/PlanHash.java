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

  private final CanonicalHash hash = new CanonicalHash(FORMAT);

  private PlanHash() {}

  static String of(ShardingPlan plan) {
    return new PlanHash().put(plan).hex();
  }

  private CanonicalHash put(ShardingPlan plan) {
    PlanOrigin origin = plan.origin();
    PlanPrediction prediction = plan.prediction();
    Insight insight = prediction.insight();
    hash.put(plan.workloadId())
        .put(plan.generation())
        .put(origin.firstGeneration())
        .put(origin.effort().name())
        .put(origin.modelId());
    put(origin.settings());
    hash.put(insight.uncertaintyMs())
        .put(plan.groups().count())
        .put(plan.groups().layout().name())
        .put(plan.replication().synchronizationSteps())
        .put(plan.replication().synchronizationMs())
        .putAll(origin.slow(), this::put)
        .put(origin.previousPlanId().orElse(""))
        .put(plan.reason())
        .put(plan.predictedMs())
        .put(plan.run().evaluations())
        .put(prediction.outOfRangeCount())
        .put(insight.lowerBoundMs());
    put(insight.bottleneck());
    hash.putAll(plan.shards(), this::put)
        .putAll(prediction.deviceCosts(), this::put)
        .putAll(plan.transition().moves(), this::put)
        .putAll(
            plan.transition().moveOrder(), step -> hash.put(step.move()).put(step.stage().name()))
        .putAll(prediction.outOfRange(), this::put)
        .putAll(insight.explanations(), this::put)
        .putAll(
            prediction.cacheMisses(),
            of -> hash.put(of.table()).put(of.lookupShare()).put(of.known().name()));
    if (!plan.codecs().isEmpty()) {
      hash.putAll(plan.codecs(), this::put);
    }
    if (!plan.kernels().isEmpty()) {
      hash.putAll(plan.kernels(), this::put);
    }
    return hash;
  }

  private void put(SearchSettings settings) {
    hash.put(settings.evaluationsPerTable())
        .put(settings.repairEvaluations())
        .put(settings.moveGigabytesPerSecond())
        .put(settings.moveOverheadMs())
        .put(settings.paybackSteps())
        .put(settings.reshardMs())
        .put(settings.columnCuts().name())
        .put(settings.risk());
  }

  private void put(DeviceSpeed speed) {
    hash.put(speed.device())
        .put(speed.part().name())
        .put(speed.slowdown())
        .put(speed.standardError())
        .put(speed.since().toEpochMilli());
  }

  private void put(Bottleneck bottleneck) {
    hash.put(bottleneck.device())
        .put(bottleneck.cause().name())
        .put(bottleneck.table())
        .put(bottleneck.gainMs());
  }

  private void put(Shard shard) {
    hash.put(shard.table()).put(shard.kind().name());
    put(shard.region());
    hash.put(shard.device()).put(shard.cacheShare().orElse(NO_CACHE));
  }

  private void put(Region region) {
    hash.put(region.columnOffset())
        .put(region.columns())
        .put(region.rowOffset())
        .put(region.rows());
  }

  private void put(DeviceCost cost) {
    hash.put(cost.computeMs())
        .put(cost.forwardCommMs())
        .put(cost.backwardCommMs())
        .put(cost.memoryBytes())
        .put(cost.hostMemoryBytes());
  }

  private void put(Transfer move) {
    hash.put(move.table());
    put(move.region());
    hash.put(move.fromDevice()).put(move.toDevice()).put(move.bytes());
  }

  private void put(OutOfRange place) {
    hash.put(place.subject())
        .put(place.quantity())
        .put(place.value())
        .put(place.min())
        .put(place.max());
  }

  private void put(Explanation explanation) {
    hash.put(explanation.kind().name())
        .put(explanation.table())
        .put(explanation.fromDevice())
        .put(explanation.toDevice())
        .put(explanation.cause().name())
        .put(explanation.gainMs());
  }

  private void put(CollectiveCodec of) {
    hash.put(of.scope().name()).put(of.direction().name()).put(of.savedMs());
    SpecHash.put(hash, of.codec());
  }

  private void put(PlannedKernel of) {
    SpecHash.put(hash.put("kernel").put(of.table()), of.kernel()).put(of.enforceHbm() ? 1 : 0);
  }
}
