package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Predicted cost of one step, per device and of the whole plan. Holds its arrays without a copy.
 *
 * @param computeMs computation of each device in milliseconds
 * @param forwardCommMs forward exchange of each device in milliseconds, waiting included
 * @param backwardCommMs backward exchange of each device in milliseconds
 * @param predictedMs the largest sum of the three of any device, in milliseconds
 */
@SuppressWarnings(
    "ArrayRecordComponent") // The search makes these by the thousand; nobody compares them.
public record PlanCost(
    double[] computeMs, double[] forwardCommMs, double[] backwardCommMs, double predictedMs) {
  /**
   * Predicts what shards cost. Shards of tables without a prediction, and of devices that are gone,
   * count nothing.
   *
   * @param tables what the model says of the tables
   * @param shards where columns lie
   * @param cluster the devices and the batch
   * @param model the model
   */
  public static PlanCost of(
      List<TablePrediction> tables, List<Shard> shards, ClusterSpec cluster, CostModel model) {
    Map<String, TablePrediction> byName = new HashMap<>();
    tables.forEach(table -> byName.put(table.table().name(), table));
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
    return evaluator.planCost(computeMs, columns, cluster.batchSize());
  }
}
