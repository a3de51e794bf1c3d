package io.shardtide.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
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
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.SpecHash;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The regret of searches from scratch: by which share the predicted step that a budget finds is
 * above the best known one, of {@link RegretWorkloads}. {@code -Dbench.best=500000} also searches
 * that long, and writes the least steps to {@code target/regret.json}.
 */
class RegretTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long BEST = Long.getLong("bench.best", 0);

  /** A longer search has a tenth of the evaluations on more devices: they take longer. */
  private static final int SMALL_DEVICES = 16;

  /**
   * The shortest step of a workload that any search has found.
   *
   * @param problem {@link #problem} of the workload that was searched
   * @param ms the step in milliseconds
   * @param evaluationsPerTable budget of the search that found it
   */
  record BestKnown(
      @JsonProperty("problem") String problem,
      @JsonProperty("ms") double ms,
      @JsonProperty("evaluations_per_table") long evaluationsPerTable) {}

  /** Returns the steps that are known, by workload. */
  static SortedMap<String, BestKnown> known() {
    try (InputStream in = RegretTest.class.getResourceAsStream("/bench/regret.json")) {
      return JSON.readValue(in, new TypeReference<TreeMap<String, BestKnown>>() {});
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns what identifies a problem: tables, cluster and cost model. */
  static String problem(WorkloadTask task, String modelId) {
    CanonicalHash hash = SpecHash.put(new CanonicalHash("RegretProblem"), task.cluster());
    for (TableSpec table : task.tables()) {
      SpecHash.put(hash, table);
    }
    return CanonicalHash.shown(hash.put(modelId).hex());
  }

  /** The model of a hardware, open. */
  private record OpenModel(CostModel cost, TensorFlowTowers towers) implements AutoCloseable {
    OpenModel(ModelBundle bundle) {
      this(new CostModel(bundle), new TensorFlowTowers(bundle));
    }

    SearchResult.Found search(WorkloadTask task, SearchSettings settings) {
      return (SearchResult.Found)
          GroupSearch.search(
              new GroupedProblem(
                  towers.predict(task.tables(), task.cluster()), task.cluster(), cost),
              settings);
    }

    @Override
    public void close() {
      towers.close();
    }
  }

  private static SearchSettings settings(long evaluationsPerTable) {
    return SearchSettingsBuilder.builder(SearchSettings.DEFAULTS)
        .evaluationsPerTable(evaluationsPerTable)
        .build();
  }

  @Test
  @Tag("nightly")
  void steps_are_near_the_best_known_ones() throws IOException {
    SortedMap<String, BestKnown> known = known();
    Map<String, SearchSettings> budgets = new LinkedHashMap<>();
    budgets.put("quick", SearchSettings.QUICK);
    budgets.put("default", SearchSettings.DEFAULTS);
    Map<String, List<Double>> regrets = new LinkedHashMap<>();
    Figures figures = new Figures("workload", "best known ms | ms | regret %% | s");
    try (OpenModel nodes = new OpenModel(ModelFiles.shippedForNodes());
        OpenModel h200 = new OpenModel(ModelFiles.shippedForH200())) {
      nodes.search(RegretWorkloads.warmUp(), SearchSettings.DEFAULTS);
      for (WorkloadTask task : RegretWorkloads.all()) {
        if (BEST > 0) {
          boolean isSmall = task.cluster().devices() <= SMALL_DEVICES;
          budgets.put("best", settings(isSmall ? BEST : Math.max(1, BEST / 10)));
        }
        OpenModel model = task.cluster().hardware().equals("h200") ? h200 : nodes;
        double bestMs = known.get(task.name()).ms();
        budgets.forEach(
            (budget, settings) -> {
              long start = System.nanoTime();
              double ms = model.search(task, settings).predictedMs();
              double regret = 100 * (ms / bestMs - 1);
              figures.add(
                  task.name() + ", " + budget,
                  "%.4f | %.4f | %.2f | %.2f",
                  bestMs,
                  ms,
                  regret,
                  (System.nanoTime() - start) / 1e9);
              regrets.computeIfAbsent(budget, b -> new ArrayList<>()).add(regret);
              String problem = problem(task, model.cost().bundle().modelId());
              known.merge(
                  task.name(),
                  new BestKnown(problem, ms, settings.evaluationsPerTable()),
                  (before, next) -> next.ms() < before.ms() ? next : before);
            });
      }
    }
    regrets.forEach(
        (budget, of) ->
            figures.add("all, " + budget, "mean %.2f %% | most %.2f %%", mean(of), most(of)));
    System.out.println(figures);
    if (BEST > 0) {
      JSON.writerWithDefaultPrettyPrinter()
          .writeValue(Path.of("target/regret.json").toFile(), known);
    }
    assertThat(mean(regrets.get("quick"))).isBetween(0.0, 4.5);
    assertThat(most(regrets.get("quick"))).isLessThan(12);
    assertThat(mean(regrets.get("default"))).isBetween(0.0, 2.5);
    assertThat(most(regrets.get("default"))).isLessThan(6.5);
  }

  private static double mean(List<Double> regrets) {
    return regrets.stream().mapToDouble(regret -> regret).average().orElseThrow();
  }

  private static double most(List<Double> regrets) {
    return regrets.stream().mapToDouble(regret -> regret).max().orElseThrow();
  }
}
