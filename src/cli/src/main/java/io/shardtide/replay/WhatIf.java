package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Effort;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.step.PlanningOutcome;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Plans every generation with another model, other settings or other events, and compares the
 * result with the recorded plans.
 */
public final class WhatIf {
  private WhatIf() {}

  /**
   * The outcome of a generation.
   *
   * @param ms predicted cost of its last plan, in milliseconds per step; empty without a plan
   * @param movedBytes bytes that all its plans move
   * @param note why there is no plan, for people; empty text if there is one
   */
  public record GenerationOutcome(OptionalDouble ms, long movedBytes, String note) {
    private static final GenerationOutcome NONE = without("-");

    private static GenerationOutcome without(String note) {
      return new GenerationOutcome(OptionalDouble.empty(), 0, note);
    }

    private static void add(Map<GenerationKey, GenerationOutcome> outcomes, ShardingPlan plan) {
      GenerationKey key = new GenerationKey(plan.workloadId(), plan.generation());
      long moved = outcomes.getOrDefault(key, NONE).movedBytes + plan.movedBytes();
      outcomes.put(key, new GenerationOutcome(OptionalDouble.of(plan.predictedMs()), moved, ""));
    }
  }

  /**
   * A generation, as recorded and as planned here.
   *
   * @param workloadId the workload
   * @param generation the generation
   * @param recorded its recorded outcome
   * @param hypothetical its outcome here
   */
  public record WhatIfRow(
      String workloadId,
      long generation,
      GenerationOutcome recorded,
      GenerationOutcome hypothetical) {}

  /**
   * The result.
   *
   * @param rows the generations, by workload
   * @param plans the plans, in order
   * @param settings the settings of the search
   * @param notes what else a person should know
   */
  public record WhatIfResult(
      List<WhatIfRow> rows,
      List<ShardingPlan> plans,
      SearchSettings settings,
      List<String> notes) {}

  /**
   * What to plan, and what to compare it with.
   *
   * @param recorded the records to compare with
   * @param events the records whose predictions are planned; without any, its events are predicted
   * @param scope which workloads and generations
   * @param models the models by id; the last one of a hardware makes new predictions
   * @param slow slow devices of all workloads
   * @param change changes the settings that were recorded last
   */
  public record WhatIfSettings(
      LogRecords recorded,
      LogRecords events,
      ReplayScope scope,
      Map<String, ModelBundle> models,
      List<DeviceSpeed> slow,
      UnaryOperator<SearchSettings> change) {}

  /**
   * Returns whether there are predictions that match the events, so that no event was edited.
   *
   * @throws IOException if the records cannot be read
   */
  public static boolean isPredicted(LogRecords records) throws IOException {
    GenerationHistory history = GenerationHistory.read(records, workload -> true);
    boolean[] follows = {records.has(RecordKind.PREDICTIONS)};
    PredictionGroups.read(
        records,
        workload -> true,
        group -> follows[0] &= history.advance(group).problem().isEmpty());
    return follows[0];
  }

  /**
   * Plans the events.
   *
   * @param request what to plan
   * @param predictorOf runs a model's table tower
   * @param progress called after each plan
   * @throws IOException if the records cannot be read
   */
  public static WhatIfResult run(
      WhatIfSettings request,
      Function<ModelBundle, TowerPredictor> predictorOf,
      Replay.ReplayProgress progress)
      throws IOException {
    Map<GenerationKey, GenerationOutcome> recorded = new TreeMap<>();
    SearchSettings settings = request.change().apply(readRecorded(request, recorded));
    Map<GenerationKey, GenerationOutcome> hypothetical = new TreeMap<>();
    ReplayResult.Tally tally = new ReplayResult.Tally();
    GenerationPlanner planner = new GenerationPlanner(request.models(), settings, request.slow());
    try (ModelPredictors predictors = new ModelPredictors(request.models(), predictorOf)) {
      new GenerationReader(request.events(), request.scope(), request.models(), predictors, tally)
          .read(
              (group, occurredAt) -> {
                PlanningOutcome outcome = planner.plan(group, occurredAt).orElse(null);
                if (outcome instanceof PlanningOutcome.Planned planned) {
                  tally.plans.add(planned.plan());
                  GenerationOutcome.add(hypothetical, planned.plan());
                  progress.planned(tally.plans.size(), 0);
                } else if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
                  hypothetical.put(
                      new GenerationKey(
                          infeasible.workload().workloadId(), infeasible.workload().generation()),
                      GenerationOutcome.without("does not fit"));
                } else if (outcome instanceof PlanningOutcome.Failed failed) {
                  tally.problems.add("planning failed: " + failed.error());
                }
              });
    }
    TreeSet<GenerationKey> generations = new TreeSet<>(recorded.keySet());
    generations.addAll(hypothetical.keySet());
    generations.removeIf(of -> !request.scope().has(of.workloadId(), of.generation()));
    return new WhatIfResult(
        generations.stream()
            .map(
                of ->
                    new WhatIfRow(
                        of.workloadId(),
                        of.generation(),
                        recorded.getOrDefault(of, GenerationOutcome.NONE),
                        hypothetical.getOrDefault(of, GenerationOutcome.NONE)))
            .toList(),
        tally.plans,
        settings,
        Stream.concat(tally.problems.stream(), tally.notes.stream()).toList());
  }

  /** Reads the recorded outcomes; returns the settings that were used last. */
  private static SearchSettings readRecorded(
      WhatIfSettings request, Map<GenerationKey, GenerationOutcome> recorded) throws IOException {
    SearchSettings[] used = {SearchSettings.DEFAULTS};
    request
        .recorded()
        .read(
            RecordKind.PLANS,
            plan -> {
              if (!request.scope().has(plan.workloadId())) {
                return;
              }
              GenerationOutcome.add(recorded, plan);
              if (plan.origin().effort() == Effort.QUICK) {
                used[0] = plan.origin().settings();
                for (long g = plan.origin().firstGeneration(); g < plan.generation(); g++) {
                  recorded.putIfAbsent(
                      new GenerationKey(plan.workloadId(), g),
                      GenerationOutcome.without("with " + plan.generation()));
                }
              }
            });
    request
        .recorded()
        .read(
            RecordKind.INFEASIBLE,
            infeasible -> {
              if (infeasible.expected().isEmpty()) {
                recorded.putIfAbsent(
                    new GenerationKey(infeasible.workloadId(), infeasible.generation()),
                    GenerationOutcome.without("does not fit"));
              }
            });
    return used[0];
  }
}
