package io.shardtide.search;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.Synchronization;
import io.shardtide.cost.TablePrediction;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.PlanShards;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.TableSpec;
import java.util.List;

/**
 * The input of a search that also chooses the replica groups.
 *
 * @param tables predictions of the tables, those in groups among them; their order breaks ties
 * @param cluster the devices of all groups, and the groups to choose among
 * @param model the model that predicted
 * @param running the running plan, if there is one
 * @param keepsGroups whether the groups of a running plan stay as long as its tables fit: a change
 *     stops the training
 * @param slow the slow devices, by rank
 */
public record GroupedProblem(
    List<TablePrediction> tables,
    ClusterSpec cluster,
    CostModel model,
    PlanShards running,
    boolean keepsGroups,
    List<DeviceSpeed> slow) {
  /** A problem without a running plan and without slow devices. */
  public GroupedProblem(List<TablePrediction> tables, ClusterSpec cluster, CostModel model) {
    this(tables, cluster, model, PlanShards.NONE, false, List.of());
  }

  /** Copies what may change. */
  public GroupedProblem {
    tables = List.copyOf(tables);
    slow = List.copyOf(slow);
  }

  /**
   * Returns the problem of one group. It begins with the running plan if that has the same groups.
   *
   * @throws java.util.NoSuchElementException if a table has no predictions for the groups
   */
  public SearchProblem inGroup(ReplicaGroups groups) {
    ClusterSpec group = cluster.group(groups);
    return new SearchProblem(
        tables.stream().map(table -> table.inGroup(groups).orElseThrow()).toList(),
        group,
        model,
        running,
        Synchronization.of(groups, cluster),
        Slowdowns.of(slow, new PlanShards(List.of(), group.devices(), groups)));
  }

  /**
   * Returns the ways to form groups that the cluster and all tables allow, and all tables have
   * predictions for; models without measured collectives predict one group only.
   */
  List<ReplicaGroups> groupings() {
    return cluster.groupings().stream()
        .filter(groups -> !groups.areSeveral() || hashed().isEmpty())
        .filter(groups -> tables.stream().allMatch(table -> table.inGroup(groups).isPresent()))
        .toList();
  }

  /**
   * Returns the tables that cannot be in several groups: each would store other ids in other slots.
   */
  List<TableSpec> hashed() {
    return tables.stream()
        .map(TablePrediction::table)
        .filter(table -> table.storage().isPresent())
        .toList();
  }
}
