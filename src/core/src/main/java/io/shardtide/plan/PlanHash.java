package io.shardtide.plan;

import io.shardtide.workload.CanonicalHash;

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
        .put(origin.effort())
        .put(origin.modelId());
    put(origin.settings());
    hash.put(insight.uncertaintyMs())
        .put(plan.replication())
        .put(origin.slow())
        .put(origin.previousPlanId())
        .put(plan.reason())
        .put(plan.predictedMs())
        .put(plan.run().evaluations())
        .put(prediction.outOfRangeCount())
        .put(insight.lowerBoundMs())
        .put(insight.bottleneck())
        .putAll(plan.shards(), this::put)
        .put(prediction.deviceCosts())
        .put(plan.transition().moves())
        .put(plan.transition().moveOrder())
        .put(prediction.outOfRange())
        .put(insight.explanations())
        .putAll(prediction.cacheMisses(), this::put);
    if (!plan.codecs().isEmpty()) {
      hash.putAll(plan.codecs(), this::put);
    }
    if (!plan.kernels().isEmpty()) {
      hash.putAll(plan.kernels(), kernel -> hash.put("kernel").put(kernel));
    }
    if (!insight.deduplications().isEmpty()) {
      hash.put("deduplications").put(insight.deduplications());
    }
    if (!prediction.hotOwners().isEmpty()) {
      hash.put("hotOwners").put(prediction.hotOwners());
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
        .put(settings.columnCuts())
        .put(settings.risk());
  }

  private void put(Shard shard) {
    hash.put(shard.table())
        .put(shard.kind())
        .put(shard.region())
        .put(shard.device())
        .put(shard.cacheShare().orElse(NO_CACHE));
    if (shard.deduplicated()) {
      hash.put("deduplicated");
    }
    shard.rowOrder().ifPresent(order -> hash.put("rowOrder").put(order));
  }

  private void put(CacheMisses of) {
    hash.put(of.table()).put(of.lookupShare()).put(of.known());
    // Ids of plans whose caches hold what they need are older than this.
    of.leastShare().ifPresent(least -> hash.put("least").put(least));
  }

  private void put(CollectiveCodec of) {
    hash.put(of.scope()).put(of.direction()).put(of.savedMs()).put(of.codec());
  }
}
