package io.shardtide.bench.learning;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.NearestModel;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.plan.Shard;
import io.shardtide.search.LocalSearch;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.state.PlanningSettings;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/**
 * What learned models are worth on a simulated machine that changes. A workload whose tables change
 * runs there; its trainer reports noisy costs. Then other workloads of that machine are planned
 * with the model before, with the learned one, and with one that knows the machine.
 */
final class LearningBenchmark {
  private static final String WORKLOAD = "learning";

  /** Standard deviation of each measured number, as a share of it. */
  private static final double NOISE = 0.02;

  /** Seed of the first other workload. */
  private static final long OTHERS_SEED = 1_000;

  /** Reports from a change of a table to a background search. */
  private static final int SEARCH_AFTER = 2;

  private static final SearchSettings QUICK = PlanningSettings.DEFAULTS.quick();
  private static final SearchSettings DEEP =
      SearchSettingsBuilder.builder(PlanningSettings.DEFAULTS.deep().orElse(QUICK))
          .paybackSteps((long) SearchSettings.PAYBACK_STEPS.max())
          .build();

  private final ModelBundle model = ModelFiles.shippedForNodes();

  /**
   * A run of the benchmark.
   *
   * @param change what changes
   * @param shape size of the workloads
   * @param reporters how right the reports are
   * @param before reports before the change; none of a cold start
   * @param reports reports after it
   * @param changeEvery reports from one change of a table to the next
   * @param others number of other workloads
   * @param seed seed of tables, changes, noise and of how the machine differs
   */
  record Scenario(
      MachineChange change,
      WorkloadShape shape,
      Reporters reporters,
      int before,
      int reports,
      int changeEvery,
      int others,
      long seed) {}

  private record JudgedPlan(List<Shard> shards, double stepMs, double predictedMs) {
    double error() {
      return Math.abs(predictedMs / stepMs - 1);
    }
  }

  /** Runs a scenario. */
  LearningResult run(Scenario scenario) {
    MachineChange change = scenario.change();
    try (TowerPredictor towers = new TensorFlowTowers(model)) {
      return run(
          scenario,
          SimulatedMachine.of(model, towers, MachineChange.NONE, scenario.seed()),
          SimulatedMachine.of(model, towers, change, scenario.seed()));
    }
  }

  private LearningResult run(Scenario scenario, SimulatedMachine before, SimulatedMachine after) {
    Random random = new Random(scenario.seed());
    List<TableSpec> original = scenario.shape().randomTables(random);
    ClusterSpec cluster = scenario.shape().cluster(original, hardware(scenario));
    ModelBundle first =
        scenario.change().isColdStart()
            ? NearestModel.begin(List.of(model), cluster).orElseThrow()
            : model;
    List<Change> changes = new ArrayList<>();
    changes.add(new Change.ClusterSet(cluster));
    original.forEach(table -> changes.add(new Change.TableUpserted(table)));
    try (LearningLoop loop = new LearningLoop(WORKLOAD, first)) {
      loop.change(changes);
      loop.search();
      for (int i = 0; i < scenario.before() + scenario.reports(); i++) {
        if (i > 0 && i % scenario.changeEvery() == 0) {
          TableSpec table = original.get(random.nextInt(original.size()));
          loop.change(List.of(new Change.TableUpserted(WorkloadShape.changed(table, random))));
        } else if (i % scenario.changeEvery() == SEARCH_AFTER) {
          loop.search();
        }
        SimulatedMachine machine = i < scenario.before() ? before : after;
        loop.measure(machine, scenario.reporters(), NOISE, random);
      }
      return judged(scenario, after, loop);
    }
  }

  private String hardware(Scenario scenario) {
    return scenario.change().isColdStart() ? "other-hardware" : model.hardware();
  }

  private LearningResult judged(Scenario scenario, SimulatedMachine machine, LearningLoop loop) {
    int others = scenario.others();
    double errorBefore = 0;
    double errorAfter = 0;
    double learned = 0;
    double worst = 0;
    double known = 0;
    try (TowerPredictor oldTowers = new TensorFlowTowers(model);
        TowerPredictor newTowers = new TensorFlowTowers(loop.champion())) {
      for (int w = 0; w < others; w++) {
        List<TableSpec> tables = scenario.shape().randomTables(new Random(OTHERS_SEED + w));
        ClusterSpec cluster = scenario.shape().cluster(tables, hardware(scenario));
        JudgedPlan old =
            judge(new CostModel(model), oldTowers, tables, cluster, PlanShards.NONE, machine);
        PlanShards running = new PlanShards(old.shards(), cluster.devices());
        JudgedPlan next =
            judge(new CostModel(loop.champion()), newTowers, tables, cluster, running, machine);
        JudgedPlan best = judge(machine.model(), machine, tables, cluster, running, machine);
        errorBefore += old.error() / others;
        errorAfter += next.error() / others;
        learned += next.stepMs() / old.stepMs() / others;
        worst = Math.max(worst, next.stepMs() / old.stepMs());
        known += best.stepMs() / old.stepMs() / others;
      }
    }
    return new LearningResult(
        errorBefore,
        errorAfter,
        learned,
        worst,
        known,
        loop.alarms().size(),
        loop.reshards(),
        loop.decisions());
  }

  /**
   * Plans from scratch and from the running plan, as the service does: a plan at once, and a
   * background search from it. Returns what is predicted to be cheaper, so that less depends on
   * what a search finds. Moves cost nothing, since what models are worth is asked.
   */
  private JudgedPlan judge(
      CostModel costs,
      TowerPredictor towers,
      List<TableSpec> tables,
      ClusterSpec cluster,
      PlanShards running,
      SimulatedMachine machine) {
    List<TablePrediction> predictions = towers.predict(tables, cluster);
    SearchResult.Found found =
        Stream.of(PlanShards.NONE, running)
            .map(from -> search(predictions, cluster, costs, from))
            .min(Comparator.comparingDouble(SearchResult.Found::predictedMs))
            .orElseThrow();
    return new JudgedPlan(
        found.shards(), machine.stepMs(tables, found.shards(), cluster), found.predictedMs());
  }

  private SearchResult.Found search(
      List<TablePrediction> predictions, ClusterSpec cluster, CostModel costs, PlanShards running) {
    SearchResult.Found first = search(predictions, cluster, costs, running, QUICK);
    PlanShards next = new PlanShards(first.shards(), cluster.devices());
    return search(predictions, cluster, costs, next, DEEP);
  }

  private static SearchResult.Found search(
      List<TablePrediction> predictions,
      ClusterSpec cluster,
      CostModel costs,
      PlanShards running,
      SearchSettings settings) {
    return (SearchResult.Found)
        LocalSearch.search(new SearchProblem(predictions, cluster, costs, running), settings);
  }
}
