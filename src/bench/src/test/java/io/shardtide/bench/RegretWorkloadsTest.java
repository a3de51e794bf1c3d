package io.shardtide.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.bench.RegretTest.BestKnown;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.workload.TableSpec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The workloads of {@link RegretTest}, and their best known steps. */
class RegretWorkloadsTest {
  private static final Map<String, ModelBundle> MODELS =
      Map.of("simulated-8xh100", ModelFiles.shippedForNodes(), "h200", ModelFiles.shippedForH200());

  private static WorkloadTask task(String name) {
    return RegretWorkloads.all().stream()
        .filter(task -> task.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** A change of a workload or a shipped model makes best known steps worthless. */
  @Test
  void shipped_steps_are_of_these_workloads_and_models() {
    SortedMap<String, String> problems = new TreeMap<>();
    for (WorkloadTask task : RegretWorkloads.all()) {
      String modelId = MODELS.get(task.cluster().hardware()).modelId();
      problems.put(task.name(), RegretTest.problem(task, modelId));
    }
    SortedMap<String, String> shipped = new TreeMap<>();
    for (Map.Entry<String, BestKnown> known : RegretTest.known().entrySet()) {
      shipped.put(known.getKey(), known.getValue().problem());
      assertThat(known.getValue().evaluationsPerTable())
          .isBetween(
              (long) SearchSettings.EVALUATIONS_PER_TABLE.min(),
              (long) SearchSettings.EVALUATIONS_PER_TABLE.max());
    }
    assertThat(shipped).isEqualTo(problems);
  }

  @Test
  void names_say_what_random_workloads_have() {
    assertThat(RegretWorkloads.all())
        .hasSize(16)
        .extracting(WorkloadTask::name)
        .doesNotHaveDuplicates();
    for (WorkloadTask task : RegretWorkloads.all()) {
      if (task.name().startsWith("demo")) {
        assertThat(task.tables()).hasSize(26);
        continue;
      }
      assertThat(task.name())
          .matches("%dx%d( .*)?".formatted(task.tables().size(), task.cluster().devices()));
      double bytes = task.tables().stream().mapToDouble(TableSpec::bytes).sum();
      double filled = bytes / (double) task.cluster().usableBytes();
      if (task.name().endsWith("full")) {
        assertThat(filled).as(task.name()).isBetween(0.89, 0.96);
      } else if (task.name().endsWith("cached")) {
        assertThat(filled).isBetween(1.9, 2.1);
        assertThat(bytes)
            .isLessThan((double) task.cluster().allBytes() - task.cluster().usableBytes());
      } else {
        assertThat(filled).as(task.name()).isLessThan(0.5);
      }
      for (TableSpec table : task.tables()) {
        assertThat(table.rows()).isBetween(100L, 100_000_000L);
        assertThat(table.columns()).isBetween(16, 128);
        assertThat(table.poolingFactor()).isBetween(1.0, 100.0);
        assertThat(table.accessCdf().isKnown()).isTrue();
      }
    }
    assertThat(task("40x16 unpooled").tables()).anyMatch(table -> !table.pooled());
    assertThat(task("demo 15 changed").tables().get(20).rows()).isEqualTo(80_000_000);
  }

  /**
   * Of a million rows, 1,024 have 1.6% of the lookups by Zipf's law of exponent 0.4, 82% of 1.2.
   */
  @Test
  void lookups_are_skewed() {
    double least = 1;
    double most = 0;
    for (TableSpec table : task("120x16 full").tables()) {
      if (table.rows() > 1_000_000) {
        double hottest = table.accessCdf().shares().get(5);
        least = Math.min(least, hottest);
        most = Math.max(most, hottest);
      }
    }
    assertThat(least).as("of the 1,024 most used rows").isBetween(0.001, 0.03);
    assertThat(most).isBetween(0.7, 0.83);
  }

  /** What a workload is for, its plan has. */
  @Test
  void plans_of_special_workloads_have_what_they_are_for() {
    Map<String, SearchResult.Found> plans = new HashMap<>();
    ModelBundle bundle = MODELS.get("simulated-8xh100");
    CostModel model = new CostModel(bundle);
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      for (String name :
          List.of("80x16 cached", "40x16 unpooled", "50x16 groups", "48x16 codecs")) {
        WorkloadTask task = task(name);
        GroupedProblem problem =
            new GroupedProblem(
                towers.predict(task.tables(), task.cluster()), task.cluster(), model);
        SearchSettings settings =
            SearchSettingsBuilder.builder(SearchSettings.DEFAULTS).evaluationsPerTable(100).build();
        plans.put(name, (SearchResult.Found) GroupSearch.search(problem, settings));
      }
    }
    assertThat(plans.get("80x16 cached").shards())
        .anyMatch(shard -> shard.cacheShare().isPresent());
    assertThat(plans.get("40x16 unpooled").shards())
        .as("hot rows")
        .anyMatch(
            shard ->
                shard.device() < 0
                    && shard.rows()
                        < TableSpec.byName(task("40x16 unpooled").tables())
                            .get(shard.table())
                            .rows());
    assertThat(plans.get("50x16 groups").replication().groups().count()).isGreaterThan(1);
    assertThat(plans.get("48x16 codecs").collectives().codecs()).isNotEmpty();
  }
}
