package io.shardtide.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.plan.Transfer;
import io.shardtide.samples.SampleFolderReader;
import io.shardtide.search.LocalSearch;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Times and quality of searches of whole problems, of which {@code -Dbench.tables=2002} and {@code
 * -Dbench.devices=1024} name the largest.
 */
@Tag("nightly")
class SearchTimesTest {
  private static final int MOST_TABLES = Integer.getInteger("bench.tables", 1_000);
  private static final int MOST_DEVICES = Integer.getInteger("bench.devices", 128);
  private static final Path REFERENCE =
      Path.of("src/models/src/test/resources/reference/tables.jsonl");
  private static final int CHANGES = 100;
  private static final OpenModel COLUMNS = new OpenModel(ModelFiles.shipped());
  private static final OpenModel ALL_KINDS = new OpenModel(ModelFiles.shippedForNodes());

  private record OpenModel(CostModel cost, TensorFlowTowers towers) {
    OpenModel(ModelBundle bundle) {
      this(new CostModel(bundle), new TensorFlowTowers(bundle));
    }

    TimedSearch search(
        List<TableSpec> tables, int devices, PlanShards running, SearchSettings settings) {
      ClusterSpec cluster =
          new ClusterSpec(devices, 80L << 30, 65_536, 8, cost.bundle().hardware());
      SearchProblem problem =
          new SearchProblem(towers.predict(tables, cluster), cluster, cost, running);
      long start = System.nanoTime();
      SearchResult.Found found = (SearchResult.Found) LocalSearch.search(problem, settings);
      return new TimedSearch(found, (System.nanoTime() - start) / 1e9);
    }
  }

  private record TimedSearch(SearchResult.Found found, double seconds) {
    double ms() {
      return found.predictedMs();
    }
  }

  @AfterAll
  static void close() {
    COLUMNS.towers().close();
    ALL_KINDS.towers().close();
  }

  private static List<TableSpec> tables(String model) throws IOException {
    return model.equals("reference")
        ? SampleFolderReader.tables(REFERENCE).stream()
            .limit(200)
            .map(table -> table.withColumns(64))
            .toList()
        : SyntheticTables.ofModel(model);
  }

  /** Ten times the budget finds little more. */
  @ParameterizedTest
  @CsvSource({
    "reference, 16",
    "nvidia_synthetic_large, 128",
    "nvidia_synthetic_jumbo, 128",
    "nvidia_synthetic_colossal, 512"
  })
  void a_search_from_scratch_is_near_its_end(String model, int devices) throws IOException {
    List<TableSpec> tables = tables(model);
    if (tables.size() > MOST_TABLES) {
      return;
    }
    TimedSearch timed = COLUMNS.search(tables, devices, PlanShards.NONE, SearchSettings.DEFAULTS);
    SearchSettings tenfold =
        SearchSettingsBuilder.builder(SearchSettings.DEFAULTS)
            .evaluationsPerTable(10 * SearchSettings.DEFAULTS.evaluationsPerTable())
            .build();
    TimedSearch longer = COLUMNS.search(tables, devices, PlanShards.NONE, tenfold);
    double bound = timed.found().insight().orElseThrow().lowerBoundMs();
    Figures figures =
        new Figures("problem", "s | ms | of ten times the budget | its s | lower bound, ms");
    figures.add(
        "%s, %,d tables, %d devices".formatted(model, tables.size(), devices),
        "%.2f | %.2f | %.4f | %.0f | %.2f",
        timed.seconds(),
        timed.ms(),
        timed.ms() / longer.ms(),
        longer.seconds(),
        bound);
    System.out.println(figures);
    assertThat(timed.ms() / longer.ms()).isLessThan(1.05);
    assertThat(timed.ms()).isGreaterThanOrEqualTo(bound);
  }

  @Test
  void evaluations_and_memory_grow_with_tables_and_devices() {
    Figures figures = new Figures("problem", "s | evaluations | heap, at most MiB");
    int[][] sizes = {
      {26, 8},
      {100, 8},
      {300, 8},
      {1_000, 8},
      {300, 32},
      {300, 128},
      {1_000, 128},
      {5_000, 128},
      {1_000, 1_024},
      {5_000, 1_024}
    };
    for (int[] size : sizes) {
      if (size[0] > MOST_TABLES || size[1] > MOST_DEVICES) {
        continue;
      }
      Runtime runtime = Runtime.getRuntime();
      System.gc();
      long before = runtime.totalMemory() - runtime.freeMemory();
      TimedSearch timed =
          COLUMNS.search(
              SyntheticTables.of(size[0], 64, 1),
              size[1],
              PlanShards.NONE,
              SearchSettings.DEFAULTS);
      long heap = runtime.totalMemory() - runtime.freeMemory() - before;
      figures.add(
          "%,d tables, %,d devices".formatted(size[0], size[1]),
          "%.3f | %,d | %,d",
          timed.seconds(),
          timed.found().evaluations(),
          Math.max(0, heap) >> 20);
      assertThat(timed.ms())
          .isGreaterThanOrEqualTo(timed.found().insight().orElseThrow().lowerBoundMs());
    }
    System.out.println(figures);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void a_quick_answer_moves_little_and_is_near_a_search_from_scratch(boolean deviceIsLost)
      throws IOException {
    List<TableSpec> tables = tables("nvidia_synthetic_large");
    PlanShards running = quick(tables, 128, PlanShards.NONE).found().placed();
    Random random = new Random(1);
    List<Double> seconds = new ArrayList<>();
    List<Double> moved = new ArrayList<>();
    double worst = 0;
    for (int i = 0; i < (deviceIsLost ? 1 : CHANGES); i++) {
      List<TableSpec> next = new ArrayList<>(tables);
      if (!deviceIsLost) {
        int t = random.nextInt(next.size());
        next.set(t, SyntheticTables.changed(next.get(t), random));
      }
      int devices = deviceIsLost ? 127 : 128;
      TimedSearch timed = quick(next, devices, running);
      seconds.add(timed.seconds());
      moved.add(movedPercent(running, timed.found().placed(), next));
      if (i % 10 == 0) {
        worst = Math.max(worst, timed.ms() / quick(next, devices, PlanShards.NONE).ms());
      }
    }
    seconds.sort(null);
    moved.sort(null);
    Figures figures =
        new Figures(
            "quick answer, 612 tables, 128 devices, all kinds",
            "s, median | at most | of from scratch, at most | bytes moved, at most %%");
    figures.add(
        deviceIsLost ? "a device is lost" : "one table changed",
        "%.4f | %.4f | %.4f | %.2f",
        seconds.get(seconds.size() / 2),
        seconds.get(seconds.size() - 1),
        worst,
        moved.get(moved.size() - 1));
    System.out.println(figures);
    assertThat(worst).isLessThan(deviceIsLost ? 1.25 : 1.1);
    assertThat(moved.get(moved.size() - 1)).isLessThan(deviceIsLost ? 30 : 1);
  }

  private static TimedSearch quick(List<TableSpec> tables, int devices, PlanShards running) {
    return ALL_KINDS.search(tables, devices, running, SearchSettings.QUICK);
  }

  private static double movedPercent(PlanShards before, PlanShards after, List<TableSpec> tables) {
    double moved =
        Overlap.moves(Overlap.between(before, after), TableSpec.byName(tables), after).stream()
            .mapToDouble(Transfer::bytes)
            .sum();
    return 100 * moved / tables.stream().mapToDouble(TableSpec::bytes).sum();
  }
}
