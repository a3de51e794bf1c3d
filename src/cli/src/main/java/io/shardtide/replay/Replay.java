package io.shardtide.replay;

import io.shardtide.cost.CostModels;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.plan.ColumnCuts;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.PlanningState.PredictedGeneration;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningOutcome;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningTables;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
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
  private final CostModels models;
  private final Function<ModelBundle, TowerPredictor> predictorOf;
  private final ReplayProgress progress;
  private final List<String> problems = new ArrayList<>();
  private final List<String> notes = new ArrayList<>();

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
    models = ReplayedPredictions.modelsOf(bundles);
  }

  /**
   * Runs the replay.
   *
   * @param repredict whether to run the models again and compare with the recorded predictions
   * @throws IOException if the records cannot be read
   */
  public ReplayResult run(boolean repredict) throws IOException {
    try (ModelPredictors predictors = new ModelPredictors(bundles, predictorOf)) {
      boolean hasPredictions = records.has(RecordKind.PREDICTIONS);
      Optional<PredictionDeviation> deviation =
          repredict && hasPredictions
              ? Optional.of(new PredictionDeviation(predictors))
              : Optional.empty();
      if (repredict && !hasPredictions) {
        notes.add("no predictions are recorded, so --repredict has nothing to compare");
      }
      GenerationReader generations =
          new GenerationReader(records, scope, bundles, predictors, deviation);
      ReplayResult result =
          records.has(RecordKind.PLANS) ? compare(generations) : planEachGeneration(generations);
      return deviation.map(all -> withDeviation(result, all)).orElse(result);
    }
  }

  private ReplayResult planEachGeneration(GenerationReader generations) throws IOException {
    List<ReplayRow> rows = new ArrayList<>();
    List<ShardingPlan> plans = new ArrayList<>();
    ReplayedPredictions.GenerationPlanner planning =
        ReplayedPredictions.planner(
            bundles,
            SearchSettings.DEFAULTS,
            List.of(),
            outcome -> {
              if (outcome instanceof PlanningOutcome.Planned planned) {
                if (scope.has(planned.plan())) {
                  rows.add(ReplayRow.of(planned.plan(), Verdict.NOT_RECORDED));
                  plans.add(planned.plan());
                }
                progress.planned(plans.size(), 0);
              } else if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
                notes.add(
                    "generation %d of %s does not fit: %s"
                        .formatted(
                            infeasible.workload().generation(),
                            infeasible.workload().workloadId(),
                            infeasible.workload().shortfall().message()));
              } else if (outcome instanceof PlanningOutcome.Failed failed) {
                problems.add("planning failed: " + failed.error());
              }
            });
    generations.read(planning::plan);
    return result(generations, rows, plans, Optional.empty());
  }

  private ReplayResult compare(GenerationReader generations) throws IOException {
    RecordedPlans recorded = RecordedPlans.read(records, scope);
    PlanningTables store = PlanningTables.inMemory();
    PlanningStep step =
        new PlanningStep(
            models,
            PlanningSettings.eachGeneration(SearchSettings.DEFAULTS),
            new Planner(() -> Instant.EPOCH, () -> 0L));
    int[] recomputed = {0};
    generations.read(
        (group, occurredAt) -> {
          group.forEach(part -> step.onPredictions(store, part));
          CostPredictions last = group.get(group.size() - 1);
          recorded.answers(last.workloadId()).predicted(last.generation());
          if (last.isDeletion()) {
            recorded.answers(last.workloadId()).addDeletion(last.generation());
          }
          for (RecordedPlans.RecordedPlan entry :
              recorded.pending(last.workloadId(), last.generation())) {
            recompute(recorded, entry, last, store);
            progress.planned(Math.min(++recomputed[0], recorded.size()), recorded.size());
          }
        });
    List<ReplayRow> rows = new ArrayList<>();
    List<ShardingPlan> plans = new ArrayList<>();
    for (RecordedPlans.RecordedPlan entry : recorded.entries()) {
      rows.add(ReplayRow.of(entry.plan(), entry.verdict()));
      entry.recomputed().ifPresent(plans::add);
    }
    Optional<Difference> first = firstDifference(recorded);
    rows.addAll(unplannedGenerations(recorded));
    return result(generations, rows, plans, first);
  }

  /** Recomputes a plan from predictions, if the plan names them. */
  private void recompute(
      RecordedPlans recorded,
      RecordedPlans.RecordedPlan entry,
      CostPredictions part,
      PlanningTables store) {
    ShardingPlan plan = entry.plan();
    if (plan.origin().settings().columnCuts() == ColumnCuts.ANY) {
      entry.notReproducible(
          "its column parts may have any widths (columnCuts ANY), which 0.2.0 was the last version"
              + " to search");
      return;
    }
    if (!part.modelId().equals(plan.origin().modelId())) {
      entry.predictedByOtherModel(part.modelId());
      return;
    }
    Optional<ShardingPlan> running = Optional.empty();
    if (plan.origin().previousPlanId().isPresent()) {
      running = recorded.find(plan.workloadId(), plan.origin().previousPlanId().get());
      if (running.isEmpty()) {
        entry.notReproducible(
            "plan %s, which was running, is not recorded"
                .formatted(plan.origin().previousPlanId().get()));
        return;
      }
    }
    if (!bundles.containsKey(part.modelId())) {
      entry.notReproducible(
          "model %s is missing, found %s. Maybe pass its file with --model"
              .formatted(part.modelId(), bundles.keySet()));
      return;
    }
    entry.recomputed(
        RecomputedPlan.of(
            new Planner.Request(
                plan.workloadId(),
                plan.origin().firstGeneration(),
                new PredictedGeneration(
                    part.generation(), part.source(), part.modelId(), part.cluster()),
                List.copyOf(store.tables().range(plan.workloadId()).values()),
                running,
                plan.origin().effort(),
                plan.origin().settings(),
                models.get(part.modelId()),
                plan.origin().slow()),
            plan));
  }

  private static Optional<Difference> firstDifference(RecordedPlans recorded) {
    return recorded.entries().stream()
        .filter(entry -> entry.verdict() != Verdict.EQUAL)
        .min(Comparator.comparing(entry -> entry.plan().workloadId()))
        .map(RecordedPlans.RecordedPlan::difference);
  }

  /** Returns a row for each generation that has no recorded plan, and reports problems. */
  private List<ReplayRow> unplannedGenerations(RecordedPlans recorded) {
    List<ReplayRow> rows = new ArrayList<>();
    Map<String, AnsweredGenerations> sorted = new TreeMap<>(recorded.answers());
    sorted.forEach(
        (workload, answers) -> {
          for (AnsweredGenerations.Violation violation : answers.violations()) {
            if (violation.last() < scope.from() || violation.first() > scope.to()) {
              continue;
            }
            problems.add(
                violation.isDuplicate()
                    ? "%s of %s: more than one plan is recorded, expected one"
                        .formatted(generations(violation.first(), violation.last()), workload)
                    : "%s of %s: neither a plan nor an infeasible workload is recorded"
                        .formatted(generations(violation.first(), violation.last()), workload));
            if (!violation.isDuplicate()) {
              rows.add(notRecorded(workload, violation.first(), violation.last()));
            }
          }
          long first = Math.max(scope.from(), answers.last() + 1);
          long last = Math.min(scope.to(), answers.lastPredicted());
          if (first <= last) {
            notes.add(
                "%s of %s: not planned yet when the records were read"
                    .formatted(generations(first, last), workload));
            rows.add(notRecorded(workload, first, last));
          }
        });
    return rows;
  }

  private static ReplayRow notRecorded(String workload, long first, long last) {
    return new ReplayRow(
        workload, first, last, Optional.empty(), Optional.empty(), Verdict.NOT_RECORDED);
  }

  private static String generations(long first, long last) {
    return first == last ? "generation " + first : "generations %d to %d".formatted(first, last);
  }

  private ReplayResult result(
      GenerationReader generations,
      List<ReplayRow> rows,
      List<ShardingPlan> plans,
      Optional<Difference> first) {
    List<String> allProblems = new ArrayList<>(generations.problems());
    allProblems.addAll(problems);
    List<String> allNotes = new ArrayList<>(generations.notes());
    allNotes.addAll(notes);
    return new ReplayResult(
        rows.stream().sorted(ReplayRow.BY_WORKLOAD).toList(),
        plans,
        first,
        allProblems,
        allNotes,
        Optional.empty());
  }

  private static ReplayResult withDeviation(ReplayResult result, PredictionDeviation deviation) {
    List<String> problems = new ArrayList<>(result.problems());
    if (deviation.largest() > PredictionDeviation.TOLERANCE) {
      problems.add(
          "recorded predictions deviate by up to %.2g from their model's, expected at most %.0e (rounding differs between processors)"
              .formatted(deviation.largest(), PredictionDeviation.TOLERANCE));
    }
    return new ReplayResult(
        result.rows(),
        result.plans(),
        result.first(),
        problems,
        result.notes(),
        Optional.of(deviation.describe()));
  }
}
