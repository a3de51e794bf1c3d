package io.shardtide.planning;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostModels;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.DatedPrediction;
import io.shardtide.cost.Limits;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.local.LocalSearch;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * The second step: collects the predictions of a generation and, when they are complete, searches a
 * plan.
 *
 * <p>A plan is a function of what is in the log: the tables and the cluster, the recorded
 * predictions, the model's heads, the settings, and the plan before it. The clocks fill in {@code
 * createdAt} and {@code searchMillis}, which are no part of its id.
 */
public final class PlanningStep {
  private final CostModels models;
  private final SearchSettings settings;
  private final InstantSource clock;
  private final LongSupplier nanoTime;

  /**
   * @param models the models that predictions name
   * @param settings settings of the search
   * @param clock says when a plan was made
   * @param nanoTime says how long a search took, in nanoseconds from any origin
   */
  public PlanningStep(
      CostModels models, SearchSettings settings, InstantSource clock, LongSupplier nanoTime) {
    this.models = models;
    this.settings = settings;
    this.clock = clock;
    this.nanoTime = nanoTime;
  }

  /**
   * Takes one part of a generation's predictions.
   *
   * @return what planning came to if this part is the generation's last
   */
  public Optional<PlanningOutcome> apply(PlanningStore store, CostPredictions part) {
    String id = part.workloadId();
    if (part.update().orElse(null) instanceof Update.Predicted predicted) {
      store.putTable(id, new DatedPrediction(predicted.prediction(), part.generation()));
    } else if (part.update().orElse(null) instanceof Update.Forgotten forgotten) {
      store.removeTable(id, forgotten.table());
    }
    if (!part.isLast()) {
      return Optional.empty();
    }
    PlanningOutcome outcome = plan(byName(store.tables(id)), store.plan(id), part);
    if (outcome instanceof PlanningOutcome.Planned planned) {
      store.putPlan(planned.plan());
    }
    return Optional.of(outcome);
  }

  /** The order of tables breaks ties, so that it must not depend on where they are kept. */
  private static List<DatedPrediction> byName(List<DatedPrediction> tables) {
    return tables.stream()
        .sorted(Comparator.comparing(table -> table.prediction().table().name()))
        .toList();
  }

  private PlanningOutcome plan(
      List<DatedPrediction> tables, Optional<ShardingPlan> previous, CostPredictions last) {
    List<TablePrediction> predictions = tables.stream().map(DatedPrediction::prediction).toList();
    CostModel model = models.get(last.modelId());
    List<Shard> running = previous.map(ShardingPlan::shards).orElse(List.of());
    SearchProblem problem = new SearchProblem(predictions, last.cluster(), model, running);
    long start = nanoTime.getAsLong();
    SearchResult result = LocalSearch.search(problem, settings);
    double searchMillis = (nanoTime.getAsLong() - start) / 1e6;
    if (result instanceof SearchResult.NotFound notFound) {
      return new PlanningOutcome.Infeasible(
          new InfeasibleWorkload(
              last.workloadId(),
              last.generation(),
              last.source(),
              last.modelId(),
              notFound.shortfall()));
    }
    Map<String, TableSpec> specs =
        TableSpec.byName(predictions.stream().map(TablePrediction::table).toList());
    SearchResult.Found found = (SearchResult.Found) result;
    List<OutOfRange> outOfRange =
        outOfRange(model.limits(), last.cluster(), predictions, found.shards());
    return new PlanningOutcome.Planned(
        new ShardingPlan(
                "",
                last.workloadId(),
                last.generation(),
                last.source(),
                last.modelId(),
                settings,
                previous.map(ShardingPlan::planId),
                Reasons.describe(tables, previous, last),
                found.shards(),
                found.deviceCosts(),
                found.predictedMs(),
                Overlap.moves(running, found.shards(), specs),
                found.insight().orElseThrow(),
                outOfRange.stream().limit(ShardingPlan.MAX_OUT_OF_RANGE).toList(),
                outOfRange.size(),
                found.evaluations(),
                searchMillis,
                clock.instant())
            .identified());
  }

  /** Returns where the model was not trained, the farthest out first. */
  private static List<OutOfRange> outOfRange(
      Limits limits, ClusterSpec cluster, List<TablePrediction> tables, List<Shard> shards) {
    List<OutOfRange> places = new ArrayList<>(limits.ofCluster(cluster));
    tables.forEach(table -> places.addAll(table.outOfRange()));
    int[] columns = new int[cluster.devices()];
    int[] counts = new int[cluster.devices()];
    for (Shard shard : shards) {
      columns[shard.device()] += shard.columns();
      counts[shard.device()]++;
    }
    for (int d = 0; d < columns.length; d++) {
      places.addAll(limits.ofDevice(d, columns[d], counts[d]));
    }
    places.sort(OutOfRange.ORDER);
    return places;
  }
}
