package io.shardtide.bench;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.ColumnCuts;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Transfer;
import io.shardtide.samples.SampleFolderReader;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.search.LocalSearch;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.search.reference.BeamSearch;
import io.shardtide.search.reference.ReferenceSettings;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/** Search times and plan costs on whole problems. */
public final class SearchBenchmark implements AutoCloseable {
  private static final long GIB = 1L << 30;
  private static final int BATCH_SIZE = 65_536;
  private static final int CHANGES = 100;
  private static final SearchSettings QUICK = SearchSettings.QUICK;

  private final ModelBundle bundle = ModelFiles.shipped();
  private final CostModel model = new CostModel(bundle);
  private final TensorFlowTowers towers = new TensorFlowTowers(bundle);
  private final ModelBundle nodesBundle = ModelFiles.shippedForNodes();
  private final CostModel nodesModel = new CostModel(nodesBundle);
  private final TensorFlowTowers nodesTowers = new TensorFlowTowers(nodesBundle);
  private final Consumer<String> progress;

  /**
   * One measured problem.
   *
   * @param problem the problem
   * @param seconds search time: a mean, or median and 99th percentile
   * @param cost predicted cost and its reference
   * @param moved share of bytes moved
   */
  public record SearchRow(String problem, String seconds, String cost, String moved) {}

  /**
   * @param progress receives the name of the next problem
   */
  public SearchBenchmark(Consumer<String> progress) {
    this.progress = progress;
  }

  /**
   * Measures all problems except the scaling.
   *
   * @param reference folder with tables.jsonl and tasks/
   */
  public List<SearchRow> run(Path reference) throws IOException {
    List<SearchRow> rows = new ArrayList<>();
    rows.add(referenceTasks(reference));
    rows.add(
        fromScratch(
            "200 reference tables of 64 columns, 16 devices", referenceTables(reference), 16));
    List<TableSpec> large = SyntheticTables.ofModel("nvidia_synthetic_large");
    rows.add(fromScratch("synthetic large, 612 tables, 128 devices", large, 128));
    rows.add(
        fromScratch(
            "synthetic jumbo, 1,022 tables, 128 devices",
            SyntheticTables.ofModel("nvidia_synthetic_jumbo"),
            128));
    rows.add(
        fromScratch(
            "synthetic colossal, 2,002 tables, 512 devices",
            SyntheticTables.ofModel("nvidia_synthetic_colossal"),
            512));
    rows.add(oneTableChanged(large));
    rows.add(deviceLost(large));
    return rows;
  }

  /** Measures how time and memory scale with the number of tables and devices. */
  public List<SearchRow> growth() {
    List<SearchRow> rows = new ArrayList<>();
    for (int[] size :
        new int[][] {
          {26, 8},
          {100, 8},
          {300, 8},
          {1000, 8},
          {300, 32},
          {300, 128},
          {1000, 128},
          {5000, 128},
          {1000, 1024},
          {5000, 1024}
        }) {
      progress.accept("growth");
      SearchProblem problem = problem(SyntheticTables.of(size[0], 64, 1), size[1]);
      Runtime runtime = Runtime.getRuntime();
      System.gc();
      long before = runtime.totalMemory() - runtime.freeMemory();
      TimedSearch timed = search(problem, SearchSettings.DEFAULTS);
      long after = runtime.totalMemory() - runtime.freeMemory();
      rows.add(
          new SearchRow(
              "%,d tables, %,d devices".formatted(size[0], size[1]),
              "%.3f".formatted(timed.seconds),
              "%,d evaluations".formatted(timed.found.evaluations()),
              "up to %,d MiB of heap".formatted(Math.max(0, after - before) >> 20)));
    }
    return rows;
  }

  private record TimedSearch(SearchResult.Found found, double seconds) {}

  private static TimedSearch search(SearchProblem problem, SearchSettings settings) {
    long start = System.nanoTime();
    SearchResult result = LocalSearch.search(problem, settings);
    double seconds = (System.nanoTime() - start) / 1e9;
    if (result instanceof SearchResult.Found found) {
      return new TimedSearch(found, seconds);
    }
    throw new IllegalStateException("No plan: " + result);
  }

  /** Returns a problem of columns from scratch. */
  private SearchProblem problem(List<TableSpec> tables, int devices) {
    ClusterSpec cluster = new ClusterSpec(devices, 80 * GIB, BATCH_SIZE, 8, bundle.hardware());
    return new SearchProblem(towers.predict(tables, BATCH_SIZE), cluster, model, PlanShards.NONE);
  }

  /** Returns a problem of all kinds of shards. */
  private SearchProblem allKinds(List<TableSpec> tables, int devices, PlanShards running) {
    ClusterSpec cluster = new ClusterSpec(devices, 80 * GIB, BATCH_SIZE, 8, nodesBundle.hardware());
    return new SearchProblem(nodesTowers.predict(tables, cluster), cluster, nodesModel, running);
  }

  private SearchRow referenceTasks(Path folder) throws IOException {
    double seconds = 0;
    double sum = 0;
    double worst = 0;
    int count = 0;
    for (boolean warmUp : new boolean[] {true, false}) {
      for (int devices : new int[] {4, 8}) {
        for (int widest : new int[] {4, 8, 16, 32, 64, 128}) {
          progress.accept("reference tasks");
          Path file = folder.resolve("tasks/%dgpu_dim%d.jsonl.gz".formatted(devices, widest));
          for (WorkloadTask task : WorkloadTask.read(file)) {
            List<TablePrediction> predictions = towers.predict(task.tables(), BATCH_SIZE);
            SearchProblem problem =
                new SearchProblem(predictions, task.cluster(), model, PlanShards.NONE);
            TimedSearch timed = search(problem, SearchSettings.DEFAULTS);
            if (!warmUp) {
              SearchResult.Found reference =
                  (SearchResult.Found) BeamSearch.search(problem, ReferenceSettings.DEFAULTS);
              double ratio = timed.found.predictedMs() / reference.predictedMs();
              seconds += timed.seconds;
              sum += ratio;
              worst = Math.max(worst, ratio);
              count++;
            }
          }
        }
      }
    }
    return new SearchRow(
        count + " reference tasks, all solved",
        "mean %.4f".formatted(seconds / count),
        "ratio to the reference search: mean %.4f, max %.4f".formatted(sum / count, worst),
        "");
  }

  private static List<TableSpec> referenceTables(Path folder) throws IOException {
    return SampleFolderReader.tables(folder.resolve("tables.jsonl")).stream()
        .limit(200)
        .map(table -> table.withColumns(64))
        .toList();
  }

  private SearchRow fromScratch(String name, List<TableSpec> tables, int devices) {
    progress.accept(name);
    SearchProblem problem = problem(tables, devices);
    TimedSearch timed = search(problem, SearchSettings.DEFAULTS);
    progress.accept(name + ", 10x budget");
    SearchSettings tenfold =
        new SearchSettings(
            10 * SearchSettings.DEFAULTS.evaluationsPerTable(),
            0,
            10,
            0.1,
            0,
            1_000,
            ColumnCuts.EQUAL,
            0);
    TimedSearch longer = search(problem, tenfold);
    return new SearchRow(
        name,
        "%.2f".formatted(timed.seconds),
        "%.2f ms, ratio to 10x budget %.4f (%.0f s), lower bound %.2f ms"
            .formatted(
                timed.found.predictedMs(),
                timed.found.predictedMs() / longer.found.predictedMs(),
                longer.seconds,
                timed.found.insight().orElseThrow().lowerBoundMs()),
        "");
  }

  private SearchRow oneTableChanged(List<TableSpec> tables) {
    progress.accept("one table changed");
    PlanShards running = search(allKinds(tables, 128, PlanShards.NONE), QUICK).found.placed();
    Random random = new Random(1);
    double[] seconds = new double[CHANGES];
    double[] moved = new double[CHANGES];
    double worst = 0;
    for (int i = 0; i < CHANGES; i++) {
      List<TableSpec> next = new ArrayList<>(tables);
      int t = random.nextInt(next.size());
      next.set(t, SyntheticTables.changed(next.get(t), random));
      TimedSearch timed = search(allKinds(next, 128, running), QUICK);
      seconds[i] = timed.seconds;
      moved[i] = movedShare(running, timed.found.placed(), next);
      if (i % 10 == 0) {
        progress.accept("one table changed");
        TimedSearch scratch = search(allKinds(next, 128, PlanShards.NONE), QUICK);
        worst = Math.max(worst, timed.found.predictedMs() / scratch.found.predictedMs());
      }
    }
    Arrays.sort(seconds);
    Arrays.sort(moved);
    return new SearchRow(
        "one of 612 tables changed, 128 devices, all kinds, " + CHANGES + " quick answers",
        "median %.4f, p99 %.4f".formatted(seconds[CHANGES / 2], seconds[CHANGES - 1]),
        "ratio to from scratch: max %.4f of 10".formatted(worst),
        "max %.2f %%".formatted(100 * moved[CHANGES - 1]));
  }

  private SearchRow deviceLost(List<TableSpec> tables) {
    progress.accept("one device lost");
    PlanShards running = search(allKinds(tables, 128, PlanShards.NONE), QUICK).found.placed();
    TimedSearch timed = search(allKinds(tables, 127, running), QUICK);
    TimedSearch scratch = search(allKinds(tables, 127, PlanShards.NONE), QUICK);
    return new SearchRow(
        "one of 128 devices lost, 612 tables, all kinds, quick answer",
        "%.4f".formatted(timed.seconds),
        "ratio to from scratch: %.4f"
            .formatted(timed.found.predictedMs() / scratch.found.predictedMs()),
        "%.2f %%".formatted(100 * movedShare(running, timed.found.placed(), tables)));
  }

  private static double movedShare(PlanShards before, PlanShards after, List<TableSpec> tables) {
    double moved =
        Overlap.moves(Overlap.between(before, after), TableSpec.byName(tables), after).stream()
            .mapToDouble(Transfer::bytes)
            .sum();
    return moved / tables.stream().mapToDouble(TableSpec::bytes).sum();
  }

  @Override
  public void close() {
    towers.close();
    nodesTowers.close();
  }
}
