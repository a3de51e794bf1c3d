package io.shardtide.bench;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.Synchronization;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.DeviceSpeed;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.ReplicaGroups;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.local.LocalSearch;
import java.util.Comparator;
import java.util.List;

/** The best predicted plan for slow devices: that of a background search, moves being free. */
public final class FreshPlan {
  private FreshPlan() {}

  /**
   * Searches the plan.
   *
   * @param bundle the cost model
   * @param tables the tables
   * @param cluster a cluster with one replica group
   * @param slow its slow devices
   * @throws IllegalStateException if the tables do not fit
   */
  public static List<Shard> search(
      ModelBundle bundle, List<TableSpec> tables, ClusterSpec cluster, List<DeviceSpeed> slow) {
    try (TowerPredictor towers = new TensorFlowTowers(bundle)) {
      List<TableSpec> sorted =
          tables.stream().sorted(Comparator.comparing(TableSpec::name)).toList();
      SearchResult result =
          LocalSearch.search(
              new SearchProblem(
                  towers.predict(sorted, cluster),
                  cluster,
                  new CostModel(bundle),
                  PlanShards.NONE,
                  SearchSettings.DEEP.columnCuts(),
                  Synchronization.of(ReplicaGroups.ONE, cluster),
                  Slowdowns.of(slow, ReplicaGroups.ONE, cluster.devices())),
              SearchSettings.DEEP);
      if (result instanceof SearchResult.Found found) {
        return found.shards();
      }
      throw new IllegalStateException("No plan: " + result);
    }
  }
}
