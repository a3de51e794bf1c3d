package io.shardtide.step;

import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ReplicaGroups;

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
  static double ms(Planner.Request request, ShardingPlan plan) {
    StepCost cost = stepCost(request, plan);
    int devices = cost.computeMs().length;
    double lastStartMs = 0;
    for (int d = 0; d < devices; d++) {
      lastStartMs = Math.max(lastStartMs, cost.computeMs()[d] + cost.backwardCommMs()[d]);
    }
    double sum = 0;
    for (int d = 0; d < devices; d++) {
      double startMs = cost.computeMs()[d] + cost.backwardCommMs()[d];
      sum += startMs + (cost.forwardCommMs()[d] - (lastStartMs - startMs));
    }
    return cost.predictedMs() - sum / devices;
  }

  /** Returns the cost of a plan under a model on slow devices; see {@link #ms}. */
  static StepCost stepCost(Planner.Request request, ShardingPlan plan) {
    ClusterSpec cluster = request.predicted().cluster();
    ReplicaGroups groups =
        cluster.groupings().contains(plan.groups()) ? plan.groups() : cluster.groupings().get(0);
    ClusterSpec group = cluster.group(groups);
    return StepCost.of(
        request.predictions().stream().flatMap(t -> t.inGroup(groups).stream()).toList(),
        plan.shards(),
        StepCollectives.of(group, plan),
        request.model(),
        Slowdowns.of(request.slow(), new PlanShards(plan.shards(), group.devices(), groups)));
  }
}
