package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Effort;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.step.PlanningOutcome;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.UnaryOperator;

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
    private static final GenerationOutcome NONE =
        new GenerationOutcome(OptionalDouble.empty(), 0, "-");

    private static GenerationOutcome without(String note) {
      return new GenerationOutcome(OptionalDouble.empty(), 0, note);
    }

    private GenerationOutcome and(ShardingPlan plan) {
      return new GenerationOutcome(
          OptionalDouble.of(plan.predictedMs()), movedBytes + plan.movedBytes(), "");
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
   * @param events the records whose events are planned
   * @param isPredicted whether to use the predictions among {@code events}, not new ones
   * @param scope which workloads and generations
   * @param models the models by id; the last one of a hardware makes new predictions
   * @param slow slow devices of all workloads
   * @param change changes the settings that were recorded last
   */
  public record WhatIfSettings(
      LogRecords recorded,
      LogRecords events,
      boolean isPredicted,
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
    if (!records.has(RecordKind.PREDICTIONS)) {
      return false;
    }
    GenerationHistory history = new GenerationHistory();
    records.read(RecordKind.EVENTS, history::add);
    boolean[] follows = {true};
    records.read(
        RecordKind.PREDICTIONS,
        new PredictionGroups(group -> follows[0] &= history.advance(group).problem().isEmpty()));
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
    ReplayScope scope = request.scope();
    Map<String, Map<Long, GenerationOutcome>> recorded = new TreeMap<>();
    SearchSettings[] used = {SearchSettings.DEFAULTS};
    if (request.recorded().has(RecordKind.PLANS)) {
      request
          .recorded()
          .read(
              RecordKind.PLANS,
              plan -> {
                if (scope.has(plan.workloadId())) {
                  addRecorded(recorded, plan);
                  used[0] =
                      plan.origin().effort() == Effort.QUICK ? plan.origin().settings() : used[0];
                }
              });
    }
    if (request.recorded().has(RecordKind.INFEASIBLE)) {
      request
          .recorded()
          .read(
              RecordKind.INFEASIBLE,
              infeasible -> {
                if (infeasible.expected().isEmpty()) {
                  outcomes(recorded, infeasible.workloadId())
                      .putIfAbsent(
                          infeasible.generation(), GenerationOutcome.without("does not fit"));
                }
              });
    }
    SearchSettings settings = request.change().apply(used[0]);
    Map<String, Map<Long, GenerationOutcome>> hypothetical = new TreeMap<>();
    List<ShardingPlan> plans = new ArrayList<>();
    List<String> notes = new ArrayList<>();
    ReplayedPredictions.GenerationPlanner planning =
        ReplayedPredictions.planner(
            request.models(),
            settings,
            request.slow(),
            outcome -> {
              if (outcome instanceof PlanningOutcome.Planned planned) {
                ShardingPlan plan = planned.plan();
                plans.add(plan);
                outcomes(hypothetical, plan.workloadId())
                    .merge(
                        plan.generation(),
                        GenerationOutcome.NONE.and(plan),
                        (before, first) -> before.and(plan));
                progress.planned(plans.size(), 0);
              } else if (outcome instanceof PlanningOutcome.Infeasible unplanned) {
                InfeasibleWorkload infeasible = unplanned.workload();
                outcomes(hypothetical, infeasible.workloadId())
                    .put(infeasible.generation(), GenerationOutcome.without("does not fit"));
              } else if (outcome instanceof PlanningOutcome.Failed failed) {
                notes.add("planning failed: " + failed.error());
              }
            });
    try (ModelPredictors predictors = new ModelPredictors(request.models(), predictorOf)) {
      if (request.isPredicted()) {
        PredictionGroups groups =
            new PredictionGroups(group -> planning.plan(group, Instant.EPOCH));
        request
            .events()
            .read(
                RecordKind.PREDICTIONS,
                part -> {
                  if (scope.has(part.workloadId())) {
                    groups.accept(part);
                  }
                });
        groups.unfinished().ifPresent(notes::add);
      } else {
        notes.addAll(
            ReplayedPredictions.predict(
                request.events(),
                request.models(),
                predictors,
                (event, group) -> {
                  if (!group.isEmpty() && scope.has(event.workloadId())) {
                    planning.plan(group, event.occurredAt());
                  }
                }));
      }
    }
    return new WhatIfResult(rows(recorded, hypothetical, scope), plans, settings, notes);
  }

  private static void addRecorded(
      Map<String, Map<Long, GenerationOutcome>> recorded, ShardingPlan plan) {
    Map<Long, GenerationOutcome> byGeneration = outcomes(recorded, plan.workloadId());
    byGeneration.merge(
        plan.generation(), GenerationOutcome.NONE.and(plan), (before, first) -> before.and(plan));
    if (plan.origin().effort() == Effort.QUICK) {
      for (long g = plan.origin().firstGeneration(); g < plan.generation(); g++) {
        byGeneration.putIfAbsent(g, GenerationOutcome.without("with " + plan.generation()));
      }
    }
  }

  private static Map<Long, GenerationOutcome> outcomes(
      Map<String, Map<Long, GenerationOutcome>> all, String workloadId) {
    return all.computeIfAbsent(workloadId, id -> new TreeMap<>());
  }

  private static List<WhatIfRow> rows(
      Map<String, Map<Long, GenerationOutcome>> recorded,
      Map<String, Map<Long, GenerationOutcome>> hypothetical,
      ReplayScope scope) {
    Map<String, TreeMap<Long, WhatIfRow>> rows = new TreeMap<>();
    for (Map<String, Map<Long, GenerationOutcome>> outcomes : List.of(recorded, hypothetical)) {
      outcomes.forEach(
          (workload, byGeneration) ->
              byGeneration
                  .keySet()
                  .forEach(
                      generation -> {
                        if (scope.has(workload, generation)) {
                          rows.computeIfAbsent(workload, id -> new TreeMap<>())
                              .put(
                                  generation,
                                  new WhatIfRow(
                                      workload,
                                      generation,
                                      outcome(recorded, workload, generation),
                                      outcome(hypothetical, workload, generation)));
                        }
                      }));
    }
    return rows.values().stream().flatMap(byGeneration -> byGeneration.values().stream()).toList();
  }

  private static GenerationOutcome outcome(
      Map<String, Map<Long, GenerationOutcome>> all, String workload, long generation) {
    return all.getOrDefault(workload, Map.of()).getOrDefault(generation, GenerationOutcome.NONE);
  }
}
