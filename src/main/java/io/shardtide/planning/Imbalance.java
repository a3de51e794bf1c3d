package io.shardtide.planning;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DatedPrediction;
import io.shardtide.cost.PlanCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerSums;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What a plan would gain if its load were spread evenly: the cost of its dearest device less the
 * mean. Says where searching again promises most, not what it will give.
 */
final class Imbalance {
  private Imbalance() {}

  /**
   * Returns the imbalance of a plan under a model, in milliseconds a step. Shards of tables that
   * are gone, and of devices that are, count nothing.
   */
  static double ms(
      List<DatedPrediction> tables, List<Shard> shards, ClusterSpec cluster, CostModel model) {
    Map<String, TablePrediction> byName = new HashMap<>();
    tables.forEach(table -> byName.put(table.prediction().table().name(), table.prediction()));
    CostEvaluator evaluator = model.evaluator();
    int devices = cluster.devices();
    double[][] sums = new double[devices][evaluator.towerSize()];
    int[] columns = new int[devices];
    for (Shard shard : shards) {
      TablePrediction table = byName.get(shard.table());
      if (table != null && shard.device() < devices && shard.columns() <= table.table().columns()) {
        TowerSums.add(sums[shard.device()], TowerSums.exact(table.tower(shard.columns())));
        columns[shard.device()] += shard.columns();
      }
    }
    double[] computeMs = new double[devices];
    for (int d = 0; d < devices; d++) {
      computeMs[d] = columns[d] == 0 ? 0 : evaluator.computeMs(sums[d]);
    }
    PlanCost cost = evaluator.planCost(computeMs, columns, cluster.batchSize());
    double sum = 0;
    for (int d = 0; d < devices; d++) {
      sum += cost.computeMs()[d] + cost.forwardCommMs()[d] + cost.backwardCommMs()[d];
    }
    return cost.predictedMs() - sum / devices;
  }
}
