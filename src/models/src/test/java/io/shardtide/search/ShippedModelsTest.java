package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.StepCollectives;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.search.bound.PlanBound;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a search is worth with the shipped models, and what it assumes of them. */
class ShippedModelsTest {
  /** What the lower bound assumes: a larger load never shortens an all-to-all. */
  @Test
  void all_to_alls_take_longer_with_a_larger_load() {
    for (int devices : new int[] {2, 4, 8, 16, 128, 512}) {
      int total = devices * 100;
      ClusterSpec cluster = Fixtures.cluster(devices, Fixtures.GIB);
      AllToAllCosts allToAll =
          new AllToAllCosts(
              new CostModel(ModelFiles.shipped()).evaluator(),
              StepCollectives.of(cluster).get(ShardScope.DEVICE, Direction.FORWARD),
              4.0 * 65_536,
              1);
      double before = 0;
      for (int max = 100; max <= Math.min(total, 750); max++) {
        double ms = allToAll.ms(max, max, total, AllToAllLoad.LEVELS);
        assertThat(ms).as("%d units, %d devices", max, devices).isGreaterThan(before);
        before = ms;
      }
    }
  }

  /** Without the collectives of split and copied parts it would be below a tenth of the cost. */
  @Test
  void tables_that_could_be_split_count_with_their_collectives() {
    CostModel nodes = new CostModel(ModelFiles.shippedForNodes());
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 40; t++) {
      tables.add(Fixtures.table("t" + t, 1_000_000L * (1 + t), 128, 10));
    }
    ClusterSpec cluster = new ClusterSpec(16, 40 * Fixtures.GIB, 16_384, 8, nodes.hardware());
    SearchProblem problem =
        new SearchProblem(
            new PlainTowers(nodes.bundle()).predict(tables, cluster),
            cluster,
            nodes,
            PlanShards.NONE);
    SearchResult.Found found =
        (SearchResult.Found) LocalSearch.search(problem, SearchSettings.DEFAULTS);
    assertThat(PlanBound.of(problem, Long.MAX_VALUE))
        .isBetween(0.8 * found.predictedMs(), found.predictedMs());
  }
}
