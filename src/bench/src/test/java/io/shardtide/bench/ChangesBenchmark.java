package io.shardtide.bench;

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
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/**
 * What successive changes move: each is answered by a quick search, whose plan runs then, and by a
 * background search from that plan, whose plan runs if the service would publish it.
 */
public final class ChangesBenchmark implements AutoCloseable {
  private static final int CHANGES = 100;
  private static final int TABLES = 150;
  private static final int COLUMNS = 64;
  private static final int BATCH_SIZE = 65_536;
  private static final PlanningSettings SETTINGS = PlanningSettings.DEFAULTS;
  private static final SearchSettings DEEP = SETTINGS.deep().orElse(SearchSettings.DEEP);

  private final ModelBundle bundle = ModelFiles.shippedForNodes();
  private final CostModel model = new CostModel(bundle);
  private final TensorFlowTowers towers = new TensorFlowTowers(bundle);
  private final ClusterSpec cluster =
      new ClusterSpec(16, 80L << 30, BATCH_SIZE, 8, bundle.hardware());
  private final Random random;
  private final Consumer<String> progress;

  /**
   * What one change did.
   *
   * @param change the change, for people
   * @param quickMoves shards of the running plan that the quick answer moves
   * @param deepMoves shards that the background search's plan moves; 0 if it is not published
   * @param movedBytes bytes of both
   * @param ratio predicted cost after both, as a multiple of that of a search from scratch
   * @param quickMillis time of the quick search
   * @param deepMillis time of the background search
   */
  public record ChangeRow(
      String change,
      int quickMoves,
      int deepMoves,
      long movedBytes,
      double ratio,
      double quickMillis,
      double deepMillis) {
    /** Returns all moved shards. */
    public int moves() {
      return quickMoves + deepMoves;
    }
  }

  private record ChangedPlan(SearchResult.Found found, List<Transfer> moves, double millis) {
    int movedShards() {
      return new PlanMoves(moves, List.of()).shards(found.placed());
    }

    PlanShards shards() {
      return found.placed();
    }
  }

  /**
   * @param seed seed of the changes
   * @param progress receives the name of the next change
   */
  public ChangesBenchmark(long seed, Consumer<String> progress) {
    random = new Random(seed);
    this.progress = progress;
  }

  /** Runs all changes, one after another. */
  public List<ChangeRow> run() {
    List<TableSpec> tables = new ArrayList<>(SyntheticTables.of(TABLES, COLUMNS, 1));
    List<TableSpec> newTables =
        new ArrayList<>(
            SyntheticTables.of(TABLES + CHANGES, COLUMNS, 2).subList(TABLES, TABLES + CHANGES));
    PlanShards running = search(tables, PlanShards.NONE, DEEP).shards();
    List<ChangeRow> rows = new ArrayList<>();
    for (int i = 0; i < CHANGES; i++) {
      String change = change(tables, newTables);
      progress.accept(change);
      ChangedPlan quick = search(tables, running, SETTINGS.quick());
      ChangedPlan deep = search(tables, quick.shards(), DEEP);
      boolean isPublished =
          SETTINGS.pays(DEEP, quick.found.predictedMs(), 0, deep.found.predictedMs(), deep.moves);
      ChangedPlan last = isPublished ? deep : quick;
      running = last.shards();
      ChangedPlan scratch = search(tables, PlanShards.NONE, DEEP);
      rows.add(
          new ChangeRow(
              change,
              quick.movedShards(),
              isPublished ? deep.movedShards() : 0,
              bytes(quick.moves) + (isPublished ? bytes(deep.moves) : 0),
              last.found.predictedMs() / scratch.found.predictedMs(),
              quick.millis,
              deep.millis));
    }
    return rows;
  }

  /** Returns the rows as a few lines. */
  public static List<String> summary(List<ChangeRow> rows) {
    double[] quick = rows.stream().mapToDouble(ChangeRow::quickMillis).sorted().toArray();
    double[] deep = rows.stream().mapToDouble(ChangeRow::deepMillis).sorted().toArray();
    double[] ratio = rows.stream().mapToDouble(ChangeRow::ratio).sorted().toArray();
    return List.of(
        "moved shards a change: mean %.2f, max %d; by quick answers: mean %.2f, max %d; %d reshards of the background search"
            .formatted(
                rows.stream().mapToInt(ChangeRow::moves).average().orElse(0),
                rows.stream().mapToInt(ChangeRow::moves).max().orElse(0),
                rows.stream().mapToInt(ChangeRow::quickMoves).average().orElse(0),
                rows.stream().mapToInt(ChangeRow::quickMoves).max().orElse(0),
                rows.stream().filter(row -> row.deepMoves() > 0).count()),
        "cost as a multiple of that from scratch: mean %.4f, max %.4f, last %.4f"
            .formatted(
                Arrays.stream(ratio).average().orElse(0),
                ratio[ratio.length - 1],
                rows.get(rows.size() - 1).ratio()),
        "search: quick median %.1f ms, max %.1f ms; background median %.0f ms"
            .formatted(quick[quick.length / 2], quick[quick.length - 1], deep[deep.length / 2]));
  }

  private String change(List<TableSpec> tables, List<TableSpec> newTables) {
    int t = random.nextInt(tables.size());
    String name = tables.get(t).name();
    String change;
    switch (random.nextInt(4)) {
      case 0 -> {
        tables.set(t, SyntheticTables.changed(tables.get(t), random));
        change = "rows and lookups of " + name;
      }
      case 1 -> {
        tables.add(newTables.remove(0));
        change = "added " + tables.get(tables.size() - 1).name();
      }
      case 2 -> {
        tables.remove(t);
        change = "dropped " + name;
      }
      default -> {
        for (int drifting = 0; drifting < 10; drifting++) {
          int other = random.nextInt(tables.size());
          TableSpec table = tables.get(other);
          tables.set(
              other,
              table.withPoolingFactor(table.poolingFactor() * (0.9 + 0.2 * random.nextDouble())));
        }
        change = "lookups of ten tables drift by up to 10 %";
      }
    }
    tables.sort(Comparator.comparing(TableSpec::name));
    return change;
  }

  private ChangedPlan search(List<TableSpec> tables, PlanShards running, SearchSettings settings) {
    SearchProblem problem =
        new SearchProblem(towers.predict(tables, cluster), cluster, model, running);
    long start = System.nanoTime();
    SearchResult result = LocalSearch.search(problem, settings);
    double millis = (System.nanoTime() - start) / 1e6;
    if (result instanceof SearchResult.Found found) {
      List<Transfer> moves =
          Overlap.moves(
              Overlap.between(running, found.placed()), TableSpec.byName(tables), found.placed());
      return new ChangedPlan(found, moves, millis);
    }
    throw new IllegalStateException("No plan: " + result);
  }

  private static long bytes(List<Transfer> moves) {
    return moves.stream().mapToLong(Transfer::bytes).sum();
  }

  @Override
  public void close() {
    towers.close();
  }
}
