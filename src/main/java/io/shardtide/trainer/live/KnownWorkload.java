package io.shardtide.trainer.live;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What a trainer knows of its workload: the tables and the cluster of the latest generation, and
 * the latest plan. The specs come from cost-predictions, which names the generation of each and
 * holds only changes that were applied.
 */
final class KnownWorkload {
  private final String id;
  private final Map<String, TableSpec> tables = new TreeMap<>();
  private ClusterSpec cluster;
  private long generation;
  private boolean complete;
  private ShardingPlan latest;

  KnownWorkload(String id) {
    this.id = id;
  }

  void take(CostPredictions part) {
    if (!part.workloadId().equals(id)) {
      return;
    }
    if (part.update().orElse(null) instanceof Update.Predicted predicted) {
      TableSpec table = predicted.prediction().table();
      tables.put(table.name(), table);
    } else if (part.update().orElse(null) instanceof Update.Forgotten forgotten) {
      tables.remove(forgotten.table());
    }
    cluster = part.cluster();
    generation = part.generation();
    complete = part.isLast();
  }

  void take(ShardingPlan plan) {
    if (plan.workloadId().equals(id)) {
      latest = plan;
    }
  }

  Map<String, TableSpec> tables() {
    return tables;
  }

  ClusterSpec cluster() {
    return cluster;
  }

  /**
   * Returns the plan to run: the latest, if it is of the generation whose tables are known. A plan
   * of an earlier one is not worth moving for: the next is on its way.
   *
   * @param running id of the plan that runs
   */
  Optional<ShardingPlan> next(Optional<String> running) {
    return Optional.ofNullable(latest)
        .filter(plan -> complete && plan.generation() == generation)
        .filter(plan -> !running.equals(Optional.of(plan.planId())));
  }
}
