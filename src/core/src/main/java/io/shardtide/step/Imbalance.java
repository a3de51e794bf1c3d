package io.shardtide.step;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ReplicaGroups;
import java.util.List;

/**
 * What a plan would gain if its load were balanced perfectly: the cost of a step less the mean cost
 * of its devices without idle time. It ranks workloads by what a new search promises; it does not
 * predict the gain.
 */
final class Imbalance {
  private Imbalance() {}

  /**
   * Returns the imbalance of a plan under a model, in milliseconds a step. Shards of tables and on
   * devices that no longer exist are left out.
   */
  static double ms(
      List<VersionedPrediction> tables,
      ShardingPlan plan,
      ClusterSpec cluster,
      CostModel model,
      List<DeviceSpeed> slow) {
    StepCost cost = stepCost(tables, plan, cluster, model, slow);
    int devices = cost.computeMs().length;
    double[] startMs = new double[devices];
    double lastStartMs = 0;
    for (int d = 0; d < devices; d++) {
      startMs[d] = cost.computeMs()[d] + cost.backwardCommMs()[d];
      lastStartMs = Math.max(lastStartMs, startMs[d]);
    }
    double sum = 0;
    for (int d = 0; d < devices; d++) {
      // The forward communication without the idle time before it.
      double forwardMs = cost.forwardCommMs()[d] - (lastStartMs - startMs[d]);
      sum += startMs[d] + forwardMs;
    }
    return cost.predictedMs() - sum / devices;
  }

  /** Returns the cost of a plan under a model on slow devices; see {@link #ms}. */
  static StepCost stepCost(
      List<VersionedPrediction> tables,
      ShardingPlan plan,
      ClusterSpec cluster,
      CostModel model,
      List<DeviceSpeed> slow) {
    ReplicaGroups groups =
        cluster.groupings().contains(plan.groups()) ? plan.groups() : cluster.groupings().get(0);
    ClusterSpec group = cluster.group(groups);
    return StepCost.of(
        tables.stream().flatMap(t -> t.prediction().inGroup(groups).stream()).toList(),
        plan.shards(),
        StepCollectives.of(group, plan.codecs()),
        model,
        Slowdowns.of(slow, groups, group.devices()));
  }
}
