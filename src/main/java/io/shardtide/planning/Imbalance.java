package io.shardtide.planning;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.DatedPrediction;
import io.shardtide.cost.StepCost;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import java.util.List;

/**
 * What a plan would gain if its load were balanced perfectly: the cost of its most expensive device
 * less the mean. It ranks workloads by what a new search promises; it does not predict the gain.
 */
final class Imbalance {
  private Imbalance() {}

  /**
   * Returns the imbalance of a plan under a model, in milliseconds a step. Shards of tables and on
   * devices that no longer exist are left out.
   */
  static double ms(
      List<DatedPrediction> tables, List<Shard> shards, ClusterSpec cluster, CostModel model) {
    StepCost cost =
        StepCost.of(
            tables.stream().map(DatedPrediction::prediction).toList(), shards, cluster, model);
    int devices = cluster.devices();
    double sum = 0;
    for (int d = 0; d < devices; d++) {
      sum += cost.computeMs()[d] + cost.forwardCommMs()[d] + cost.backwardCommMs()[d];
    }
    return cost.predictedMs() - sum / devices;
  }
}
