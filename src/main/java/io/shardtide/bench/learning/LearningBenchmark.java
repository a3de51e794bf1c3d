package io.shardtide.bench.learning;

import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.Change;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.TableSpec;
import io.shardtide.learning.RetrainingRun;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.local.LocalSearch;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;

/** What learned models are worth on a simulated machine that changes. */
public final class LearningBenchmark {
  private static final String WORKLOAD = "learning";
  private static final double NOISE = 0.02;
  private static final double WAVES = 0.01;
  private static final long OTHERS_SEED = 1_000;

  private final ModelBundle model;
  private final RetrainingRun training;
  private final Function<ModelBundle, TowerPredictor> towersOf;
  private final Length length;

  /**
   * @param reports reports after the change
   * @param before reports before it
   * @param changeEvery reports from one change of a table to the next
   * @param others other workloads that plans are judged on
   */
  public record Length(int reports, int before, int changeEvery, int others) {}

  /**
   * @param stepMs true step
   * @param predictedMs predicted step
   */
  private record Judged(double stepMs, double predictedMs) {
    double error() {
      return Math.abs(predictedMs / stepMs - 1);
    }
  }

  /**
   * @param machine what changed
   * @param championError error of the model before, mean
   * @param learnedError error of the learned model, mean
   * @param learned true step of its plans beside the old model's, mean
   * @param worst the largest of them
   * @param known true step of the plans of a model that knows the machine
   * @param alarms number of alarms
   * @param decisions decisions
   */
  public record Result(
      String machine,
      double championError,
      double learnedError,
      double learned,
      double worst,
      double known,
      int alarms,
      List<ModelDecision> decisions,
      ModelBundle model) {}

  public LearningBenchmark(
      ModelBundle model,
      RetrainingRun training,
      Function<ModelBundle, TowerPredictor> towersOf,
      Length length) {
    this.model = model;
    this.training = training;
    this.towersOf = towersOf;
    this.length = length;
  }

  /** Runs a change. */
  public Result run(MachineChange change, WorkloadShape shape, long seed) {
    List<CollectiveNet> collectives = model.collectives().stream().map(change::apply).toList();
    ModelBundle changed =
        ModelBundleBuilder.builder(model).collectives(collectives).modelId("").build().identified();
    try (TowerPredictor towers = towersOf.apply(model)) {
      var waves = SimulatedMachine.waves(WAVES, seed);
      SimulatedMachine before = new SimulatedMachine(model, towers, waves);
      SimulatedMachine after =
          new SimulatedMachine(changed, towers, s -> waves.applyAsDouble(s) * change.factor(s));
      return run(change, shape, before, after, seed);
    }
  }

  private Result run(
      MachineChange change,
      WorkloadShape shape,
      SimulatedMachine before,
      SimulatedMachine after,
      long seed) {
    Random random = new Random(seed);
    List<TableSpec> original = shape.randomTables(random);
    List<Change> first = new ArrayList<>();
    first.add(new Change.ClusterSet(shape.cluster(original, model.hardware())));
    original.forEach(table -> first.add(new Change.TableUpserted(table)));
    try (LearningLoop loop =
        new LearningLoop(WORKLOAD, model, training, towersOf, PlanningSettings.DEFAULTS)) {
      loop.change(first);
      loop.search();
      for (int i = 0; i < length.before() + length.reports(); i++) {
        if (i > 0 && i % length.changeEvery() == 0) {
          TableSpec table = original.get(random.nextInt(original.size()));
          loop.change(List.of(new Change.TableUpserted(WorkloadShape.changed(table, random))));
        } else if (i % length.changeEvery() == 2) {
          loop.search();
        }
        loop.measure(i < length.before() ? before : after, "trainer", NOISE, random);
      }
      return judge(change.name(), shape, after, loop);
    }
  }

  private Result judge(
      String name, WorkloadShape shape, SimulatedMachine machine, LearningLoop loop) {
    double oldError = 0;
    double newError = 0;
    double learned = 0;
    double worst = 0;
    double known = 0;
    try (TowerPredictor oldTowers = towersOf.apply(model);
        TowerPredictor newTowers = towersOf.apply(loop.champion())) {
      for (int w = 0; w < length.others(); w++) {
        List<TableSpec> tables = shape.randomTables(new Random(OTHERS_SEED + w));
        Judged old = judge(new CostModel(model), oldTowers, tables, shape, machine);
        Judged next = judge(new CostModel(loop.champion()), newTowers, tables, shape, machine);
        Judged best = judge(machine.model(), machine, tables, shape, machine);
        oldError += old.error() / length.others();
        newError += next.error() / length.others();
        learned += next.stepMs() / old.stepMs() / length.others();
        worst = Math.max(worst, next.stepMs() / old.stepMs());
        known += best.stepMs() / old.stepMs() / length.others();
      }
    }
    return new Result(
        name,
        oldError,
        newError,
        learned,
        worst,
        known,
        loop.alarms().size(),
        loop.decisions(),
        loop.champion());
  }

  private static Judged judge(
      CostModel model,
      TowerPredictor towers,
      List<TableSpec> tables,
      WorkloadShape shape,
      SimulatedMachine machine) {
    ClusterSpec cluster = shape.cluster(tables, model.hardware());
    SearchResult.Found found =
        (SearchResult.Found)
            LocalSearch.search(
                new SearchProblem(towers.predict(tables, cluster), cluster, model, PlanShards.NONE),
                SearchSettings.DEFAULTS);
    return new Judged(machine.stepMs(tables, found.shards(), cluster), found.predictedMs());
  }
}
