package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CollectiveInputs;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Rows are split inside a node where links between nodes are slow, over all devices otherwise. */
class SlowLinksTest {
  private static final Set<ShardKind> ROWS =
      EnumSet.of(ShardKind.ROW_WISE, ShardKind.TABLE_ROW_WISE);

  /** Returns the shipped model of nodes of 8 devices with links between nodes of another speed. */
  private static ModelBundle bundle(double timesBetweenNodes) {
    ModelBundle shipped = KindsTest.BUNDLE;
    List<CollectiveNet> nets = new ArrayList<>();
    for (CollectiveNet net : shipped.collectives()) {
      List<String> terms = CollectiveInputs.terms(net.collective());
      List<Double> coefficients = new ArrayList<>(net.coefficients());
      for (int i = 0; i < terms.size(); i++) {
        if (terms.get(i).contains("between_nodes") || terms.get(i).equals("bytes_that_leave")) {
          coefficients.set(i, coefficients.get(i) * timesBetweenNodes);
        }
      }
      nets.add(
          new CollectiveNet(
              net.collective(), net.direction(), net.features(), coefficients, net.layers()));
    }
    return ModelBundleBuilder.builder(shipped).collectives(nets).build().identified();
  }

  private static Set<ShardKind> kinds(double timesBetweenNodes, int count) {
    ModelBundle bundle = bundle(timesBetweenNodes);
    CostModel model = new CostModel(bundle);
    ClusterSpec cluster = new ClusterSpec(16, 80 * Fixtures.GIB, 65_536, 8, model.hardware());
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      tables.add(
          Fixtures.table("t" + t, 200_000_000, 64, 20)
              .withConstraints(new TableConstraints(ROWS, 0, Optional.empty())));
    }
    try (PlainTowers towers = new PlainTowers(bundle)) {
      SearchProblem problem =
          new SearchProblem(towers.predict(tables, cluster), cluster, model, PlanShards.NONE);
      SearchResult.Found found =
          (SearchResult.Found) LocalSearch.search(problem, SearchSettings.DEFAULTS);
      return found.shards().stream().map(Shard::kind).collect(Collectors.toSet());
    }
  }

  @Test
  void row_shards_of_several_tables_stay_in_nodes() {
    assertThat(kinds(1, 6)).containsExactly(ShardKind.TABLE_ROW_WISE);
    assertThat(kinds(8, 6)).containsExactly(ShardKind.TABLE_ROW_WISE);
  }

  /** The computation of one table takes less time on all devices, if its collectives allow it. */
  @Test
  void the_row_shards_of_one_table_stay_in_a_node_only_if_links_between_nodes_are_slow() {
    assertThat(kinds(0, 1)).containsExactly(ShardKind.ROW_WISE);
    assertThat(kinds(1, 1)).containsExactly(ShardKind.ROW_WISE);
    assertThat(kinds(16, 1)).containsExactly(ShardKind.TABLE_ROW_WISE);
  }
}
