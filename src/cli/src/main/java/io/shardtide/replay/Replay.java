package io.shardtide.replay;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.plan.ColumnCuts;
import io.shardtide.plan.PlanOrigin;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningState.PredictedGeneration;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningOutcome;
import java.io.IOException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Recomputes the recorded plans, each from the records that it names, and compares ids. Without
 * recorded plans, plans each generation by itself, in order.
 */
public final class Replay {
  private final LogRecords records;
  private final ReplayScope scope;
  private final Map<String, ModelBundle> bundles;
  private final Function<ModelBundle, TowerPredictor> predictorOf;
  private final ReplayProgress progress;
  private final GenerationPlanner planner;
  private final ReplayResult.Tally tally = new ReplayResult.Tally();

  /** The recorded plans of the scope, in the order of the log. */
  private final List<ShardingPlan> recorded = new ArrayList<>();

  private final Map<GenerationKey, List<ShardingPlan>> byGeneration = new HashMap<>();

  /** What recomputing each recorded plan gave, once its generation is read. */
  private final IdentityHashMap<ShardingPlan, Comparer.Comparison<ShardingPlan>> comparisons =
      new IdentityHashMap<>();

  /** All plans of the workloads: the recomputed one if it has the recorded id. */
  private final Map<String, ShardingPlan> byId = new HashMap<>();

  private final Map<String, AnsweredGenerations> answers = new TreeMap<>();
  private int planned;

  /** Receives the progress of a replay. */
  @FunctionalInterface
  public interface ReplayProgress {
    /**
     * Called after each plan.
     *
     * @param plans number of plans so far
     * @param of number of plans in total; 0 if unknown
     */
    void planned(int plans, int of);
  }

  /**
   * @param records the records to replay
   * @param scope which workloads and generations
   * @param bundles the models by id; where predictions are not recorded, the last one of a hardware
   *     predicts
   * @param predictorOf runs a model's table tower
   * @param progress called after each plan
   */
  public Replay(
      LogRecords records,
      ReplayScope scope,
      Map<String, ModelBundle> bundles,
      Function<ModelBundle, TowerPredictor> predictorOf,
      ReplayProgress progress) {
    this.records = records;
    this.scope = scope;
    this.bundles = bundles;
    this.predictorOf = predictorOf;
    this.progress = progress;
    planner = new GenerationPlanner(bundles, SearchSettings.DEFAULTS, List.of());
  }

  /**
   * Runs the replay.
   *
   * @param repredict whether to run the models again and compare with the recorded predictions
   * @throws IOException if the records cannot be read
   */
  public ReplayResult run(boolean repredict) throws IOException {
    boolean deviates = repredict && records.has(COST_PREDICTIONS);
    boolean compares = records.has(SHARDING_PLANS);
    if (compares) {
      readRecorded();
    }
    try (ModelPredictors predictors = new ModelPredictors(bundles, predictorOf)) {
      PredictionDeviation deviation = new PredictionDeviation(predictors);
      new GenerationReader(records, scope, bundles, predictors, tally)
          .read(
              (group, occurredAt) -> {
                if (deviates) {
                  deviation.add(group);
                }
                if (compares) {
                  compare(group);
                } else {
                  planner.plan(group, occurredAt).ifPresent(this::planned);
                }
              });
      if (compares) {
        addRecorded();
      }
      if (deviates) {
        deviation.problem().ifPresent(tally.problems::add);
        tally.notes.add(0, deviation.describe());
      } else if (repredict) {
        tally.notes.add("no predictions are recorded, so --repredict has nothing to compare");
      }
    }
    return tally.result();
  }

  private void planned(PlanningOutcome outcome) {
    if (outcome instanceof PlanningOutcome.Planned made) {
      if (scope.has(made.plan())) {
        tally.rows.add(new ReplayRow(made.plan(), Verdict.NOT_RECORDED));
        tally.plans.add(made.plan());
        planned++;
      }
      progress.planned(planned, 0);
    } else if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
      tally.notes.add(
          "generation %d of %s does not fit: %s"
              .formatted(
                  infeasible.workload().generation(),
                  infeasible.workload().workloadId(),
                  infeasible.workload().shortfall().message()));
    } else if (outcome instanceof PlanningOutcome.Failed failed) {
      tally.problems.add("planning failed: " + failed.error());
    }
  }

  private void readRecorded() throws IOException {
    records.read(
        SHARDING_PLANS,
        plan -> {
          if (scope.has(plan.workloadId())) {
            answers(plan.workloadId()).add(plan);
            byId.putIfAbsent(plan.planId(), plan);
          }
          if (scope.has(plan)) {
            recorded.add(plan);
            byGeneration
                .computeIfAbsent(
                    new GenerationKey(plan.workloadId(), plan.generation()), g -> new ArrayList<>())
                .add(plan);
          }
        });
    records.read(
        INFEASIBLE_WORKLOADS,
        infeasible -> {
          if (infeasible.expected().isEmpty() && scope.has(infeasible.workloadId())) {
            answers(infeasible.workloadId()).add(infeasible);
          }
        });
  }

  private AnsweredGenerations answers(String workloadId) {
    return answers.computeIfAbsent(workloadId, id -> new AnsweredGenerations(id, scope, tally));
  }

  /** Recomputes the plans of a generation that are not reproduced yet, in the order of the log. */
  private void compare(List<CostPredictions> group) {
    planner.apply(group);
    CostPredictions last = group.get(group.size() - 1);
    answers(last.workloadId()).predicted(last.generation());
    if (last.isDeletion()) {
      answers(last.workloadId()).addDeletion(last.generation());
    }
    for (ShardingPlan plan :
        byGeneration.getOrDefault(
            new GenerationKey(last.workloadId(), last.generation()), List.of())) {
      if (reproduced(plan).isEmpty()) {
        comparisons.merge(
            plan,
            Comparer.PLANS.compare(plan, missing(plan, last), () -> plan(plan, last)),
            (before, next) ->
                before.verdict() == Verdict.DIFFERS && next.verdict() == Verdict.NOT_REPRODUCED
                    ? before
                    : next);
        reproduced(plan).ifPresent(made -> byId.put(made.planId(), made));
        planned++;
        progress.planned(Math.min(planned, recorded.size()), recorded.size());
      }
    }
  }

  /** Returns the recomputed plan if it has the recorded id, whatever is recorded with it. */
  private Optional<ShardingPlan> reproduced(ShardingPlan plan) {
    return Optional.ofNullable(comparisons.get(plan))
        .flatMap(Comparer.Comparison::recomputed)
        .filter(made -> made.planId().equals(plan.planId()));
  }

  /** Returns why a plan cannot be recomputed from predictions; empty if it can. */
  private Optional<String> missing(ShardingPlan plan, CostPredictions part) {
    PlanOrigin origin = plan.origin();
    if (origin.settings().columnCuts() == ColumnCuts.ANY) {
      return Optional.of(
          "its column parts may have any widths (columnCuts ANY), which 0.2.0 was the last version"
              + " to search");
    }
    if (!part.modelId().equals(origin.modelId())) {
      return Optional.of(
          "the plan names model %s, but model %s predicted generation %d"
              .formatted(origin.modelId(), part.modelId(), plan.generation()));
    }
    if (!bundles.containsKey(part.modelId())) {
      return Optional.of(
          "model %s is missing, found %s. Maybe pass its file with --model"
              .formatted(part.modelId(), bundles.keySet()));
    }
    return origin
        .previousPlanId()
        .filter(id -> !byId.containsKey(id))
        .map("plan %s, which was running, is not recorded"::formatted);
  }

  /** Recomputes a plan from predictions, with the time of the recorded one. */
  private ShardingPlan plan(ShardingPlan recorded, CostPredictions part) {
    PlanOrigin origin = recorded.origin();
    PlanningOutcome outcome =
        new Planner(InstantSource.fixed(recorded.run().createdAt()), () -> 0L)
            .plan(
                new Planner.Request(
                    recorded.workloadId(),
                    origin.firstGeneration(),
                    new PredictedGeneration(
                        part.generation(), part.source(), part.modelId(), part.cluster()),
                    List.copyOf(planner.tables(recorded.workloadId()).values()),
                    origin.previousPlanId().map(byId::get),
                    origin.effort(),
                    origin.settings(),
                    planner.model(part.modelId()),
                    origin.slow()));
    if (outcome instanceof PlanningOutcome.Planned made) {
      return made.plan();
    }
    throw new IllegalStateException(
        outcome instanceof PlanningOutcome.Infeasible infeasible
            ? "it does not fit: " + infeasible.workload().shortfall().message()
            : ((PlanningOutcome.Failed) outcome).error().toString());
  }

  /** Adds a row for each recorded plan, and for the generations that have none. */
  private void addRecorded() {
    for (ShardingPlan plan : recorded) {
      Comparer.Comparison<ShardingPlan> comparison = comparisons.get(plan);
      if (comparison == null) {
        String missing = "predictions of generation %d by model %s are not recorded";
        comparison =
            Comparer.PLANS.compare(
                plan,
                Optional.of(missing.formatted(plan.generation(), plan.origin().modelId())),
                () -> plan);
      }
      tally.add(new ReplayRow(plan, comparison.verdict()), comparison);
      comparison.recomputed().ifPresent(tally.plans::add);
    }
    answers.values().forEach(AnsweredGenerations::report);
  }
}
