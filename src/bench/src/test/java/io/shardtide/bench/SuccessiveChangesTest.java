package io.shardtide.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Transfer;
import io.shardtide.search.LocalSearch;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.state.PlanningSettings;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What successive changes move: each is answered by a quick search, whose plan runs then, and by a
 * background search from that plan, whose plan runs if the service would publish it.
 */
@Tag("nightly")
class SuccessiveChangesTest {
  private static final int CHANGES = Integer.getInteger("bench.changes", 100);
  private static final int TABLES = 150;
  private static final PlanningSettings SETTINGS = PlanningSettings.DEFAULTS;
  private static final SearchSettings DEEP = SETTINGS.deep().orElse(SearchSettings.DEEP);

  private final ModelBundle bundle = ModelFiles.shippedForNodes();
  private final CostModel model = new CostModel(bundle);
  private final ClusterSpec cluster = new ClusterSpec(16, 80L << 30, 65_536, 8, bundle.hardware());
  private final Random random = new Random(Integer.getInteger("bench.seed", 1));

  private record ChangedPlan(SearchResult.Found found, List<Transfer> moves, double millis) {
    double movedShards() {
      return new PlanMoves(moves, List.of()).shards(found.placed());
    }
  }

  @Test
  void plans_stay_near_those_from_scratch() {
    List<TableSpec> tables = new ArrayList<>(SyntheticTables.of(TABLES, 64, 1));
    List<TableSpec> newTables =
        new ArrayList<>(
            SyntheticTables.of(TABLES + CHANGES, 64, 2).subList(TABLES, TABLES + CHANGES));
    List<Double> quickMoves = new ArrayList<>();
    List<Double> moves = new ArrayList<>();
    List<Double> ratios = new ArrayList<>();
    List<Double> quickMillis = new ArrayList<>();
    List<Double> deepMillis = new ArrayList<>();
    int reshards = 0;
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      PlanShards running = search(towers, tables, PlanShards.NONE, DEEP).found().placed();
      for (int i = 0; i < CHANGES; i++) {
        change(tables, newTables);
        ChangedPlan quick = search(towers, tables, running, SETTINGS.quick());
        ChangedPlan deep = search(towers, tables, quick.found().placed(), DEEP);
        boolean isPublished =
            SETTINGS.pays(
                DEEP, quick.found().predictedMs(), 0, deep.found().predictedMs(), deep.moves());
        SearchResult.Found last = isPublished ? deep.found() : quick.found();
        running = last.placed();
        reshards += isPublished && deep.movedShards() > 0 ? 1 : 0;
        quickMoves.add(quick.movedShards());
        moves.add(quick.movedShards() + (isPublished ? deep.movedShards() : 0));
        ratios.add(
            last.predictedMs()
                / search(towers, tables, PlanShards.NONE, DEEP).found().predictedMs());
        quickMillis.add(quick.millis());
        deepMillis.add(deep.millis());
      }
    }
    Figures figures = new Figures("%d successive changes".formatted(CHANGES), "mean | most");
    add(figures, "shards that a change moves", moves);
    add(figures, "of which quick answers move", quickMoves);
    add(figures, "predicted step, of that from scratch", ratios);
    add(figures, "quick search, ms", quickMillis);
    add(figures, "background search, ms", deepMillis);
    figures.add("background searches that move shards", "%d | ", reshards);
    figures.add("last step, of that from scratch", "%.4f | ", ratios.get(CHANGES - 1));
    System.out.println(figures);
    assertThat(figures.get("predicted step, of that from scratch")).isLessThan(1.04);
    assertThat(figures.get("predicted step, of that from scratch", 1)).isLessThan(1.1);
    assertThat(figures.get("shards that a change moves")).isLessThan(10);
    assertThat(figures.get("of which quick answers move")).isLessThan(1);
  }

  private static void add(Figures figures, String name, List<Double> values) {
    DoubleStream all = values.stream().mapToDouble(value -> value);
    double most = values.stream().max(Comparator.naturalOrder()).orElseThrow();
    figures.add(name, "%.4f | %.4f", all.average().orElseThrow(), most);
  }

  /** Changes, adds or drops a table, or ten tables drift. */
  private void change(List<TableSpec> tables, List<TableSpec> newTables) {
    int t = random.nextInt(tables.size());
    switch (random.nextInt(4)) {
      case 0 -> tables.set(t, SyntheticTables.changed(tables.get(t), random));
      case 1 -> tables.add(newTables.remove(0));
      case 2 -> tables.remove(t);
      default -> {
        for (int drifting = 0; drifting < 10; drifting++) {
          int other = random.nextInt(tables.size());
          TableSpec table = tables.get(other);
          tables.set(
              other,
              table.withPoolingFactor(table.poolingFactor() * (0.9 + 0.2 * random.nextDouble())));
        }
      }
    }
    tables.sort(Comparator.comparing(TableSpec::name));
  }

  private ChangedPlan search(
      TensorFlowTowers towers,
      List<TableSpec> tables,
      PlanShards running,
      SearchSettings settings) {
    SearchProblem problem =
        new SearchProblem(towers.predict(tables, cluster), cluster, model, running);
    long start = System.nanoTime();
    SearchResult.Found found = (SearchResult.Found) LocalSearch.search(problem, settings);
    double millis = (System.nanoTime() - start) / 1e6;
    List<Transfer> moves =
        Overlap.moves(
            Overlap.between(running, found.placed()), TableSpec.byName(tables), found.placed());
    return new ChangedPlan(found, moves, millis);
  }
}
