package io.shardtide.search.problem;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.Synchronization;
import io.shardtide.cost.TablePrediction;
import io.shardtide.plan.PlanShards;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.List;

/**
 * The input of a search in one replica group.
 *
 * @param tables predictions of the tables; their order breaks ties
 * @param cluster the devices of the group
 * @param model the model that predicted
 * @param running the running plan on the devices of all its groups, if there is one; it may have
 *     tables and devices that no longer exist, and other replica groups
 * @param synchronization how the groups are kept equal
 * @param slowdowns how slow the devices are
 */
public record SearchProblem(
    List<TablePrediction> tables,
    ClusterSpec cluster,
    CostModel model,
    PlanShards running,
    Synchronization synchronization,
    Slowdowns slowdowns) {
  /** Copies what may change. */
  public SearchProblem {
    tables = List.copyOf(tables);
  }

  /** A problem of one group: all devices, which are well. */
  public SearchProblem(
      List<TablePrediction> tables, ClusterSpec cluster, CostModel model, PlanShards running) {
    this(tables, cluster, model, running, Synchronization.NONE, Slowdowns.none(cluster.devices()));
  }

  /** Returns the tables without their predictions. */
  public List<TableSpec> specs() {
    return tables.stream().map(TablePrediction::table).toList();
  }

  /**
   * Returns the part of the running plan that a search can begin with: all of it if its replica
   * groups are those of this problem, otherwise nothing, since no device holds what it held.
   */
  public PlanShards reusablePlan() {
    return running.groups().equals(synchronization.groups()) ? running : PlanShards.NONE;
  }
}
