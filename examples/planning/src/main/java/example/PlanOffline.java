package example;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.torchrec.workload.ClusterSpec;
import io.shardtide.torchrec.workload.ReuseHistogram;
import io.shardtide.torchrec.workload.TableSpec;
import java.util.List;

/** Plans two tables on eight devices. */
public final class PlanOffline {
  public static void main(String[] args) {
    List<TableSpec> tables =
        List.of(
            new TableSpec("user", 20_000_000, 128, 2, ReuseHistogram.UNKNOWN, 4),
            new TableSpec("item", 3_000_000, 64, 30, ReuseHistogram.UNKNOWN, 4));
    ModelBundle model = ModelFiles.shippedForNodes();
    // Devices, bytes of memory of each, samples of a batch, devices of a node.
    ClusterSpec cluster = new ClusterSpec(8, 16L << 30, 65_536, 8, model.hardware());
    try (TowerPredictor towers = new TensorFlowTowers(model)) {
      var predicted = towers.predict(tables, cluster);
      var problem = new GroupedProblem(predicted, cluster, new CostModel(model), PlanShards.NONE, false, List.of());
      if (GroupSearch.search(problem, SearchSettings.DEFAULTS) instanceof SearchResult.Found plan) {
        System.out.printf("a step of %.3f ms%n", plan.predictedMs());
        plan.shards().forEach(s -> System.out.printf("%s %s on device %d%n", s.table(), s.region(), s.device()));
      } else {
        System.out.println("no plan fits");
      }
    }
  }
}
