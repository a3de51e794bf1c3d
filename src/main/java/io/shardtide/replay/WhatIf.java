package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.Effort;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.planning.PlanningOutcome;
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
 * Plans every generation anew, with another model, other settings or other events, and sets it
 * beside what really happened.
 */
public final class WhatIf {
  private WhatIf() {}

  /**
   * What became of a generation.
   *
   * @param ms predicted cost of its last plan, in milliseconds a step; empty for no plan
   * @param movedBytes bytes that all its plans move
   * @param note why there is no plan, for people; empty if there is one
   */
  public record Side(OptionalDouble ms, long movedBytes, String note) {
    private static final Side NONE = new Side(OptionalDouble.empty(), 0, "-");

    private static Side without(String note) {
      return new Side(OptionalDouble.empty(), 0, note);
    }

    private Side and(ShardingPlan plan) {
      return new Side(OptionalDouble.of(plan.predictedMs()), movedBytes + plan.movedBytes(), "");
    }
  }

  /**
   * A generation.
   *
   * @param workloadId the workload
   * @param generation the generation
   * @param real what really happened
   * @param anew what would have
   */
  public record WhatIfRow(String workloadId, long generation, Side real, Side anew) {}

  /**
   * What a question came to.
   *
   * @param lines the generations, by workload
   * @param plans the plans that were made, in order
   * @param settings what was searched with
   * @param notes what a person should know beside it
   */
  public record WhatIfPlan(
      List<WhatIfRow> lines,
      List<ShardingPlan> plans,
      SearchSettings settings,
      List<String> notes) {}

  /**
   * The question.
   *
   * @param real what really happened
   * @param events what is planned instead
   * @param isPredicted whether the predictions beside the events are used, not new ones
   * @param scope what is looked at
   * @param models the models by id; the last of each kind of hardware predicts what is not
   *     predicted yet
   * @param change gives the settings in place of those that were used last
   */
  public record WhatIfSettings(
      LogRecords real,
      LogRecords events,
      boolean isPredicted,
      ReplayScope scope,
      Map<String, ModelBundle> models,
      UnaryOperator<SearchSettings> change) {}

  /**
   * Returns whether there are predictions, and they are of the events: the events were not edited.
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
   * Answers a question.
   *
   * @param predictorOf runs a model's table tower
   * @param progress hears of each plan
   * @throws IOException if the records cannot be read
   */
  public static WhatIfPlan ask(
      WhatIfSettings question,
      Function<ModelBundle, TowerPredictor> predictorOf,
      Replay.ReplayProgress progress)
      throws IOException {
    ReplayScope scope = question.scope();
    Map<String, Map<Long, Side>> real = new TreeMap<>();
    SearchSettings[] used = {SearchSettings.DEFAULTS};
    if (question.real().has(RecordKind.PLANS)) {
      question
          .real()
          .read(
              RecordKind.PLANS,
              plan -> {
                if (scope.has(plan.workloadId())) {
                  real(real, plan);
                  used[0] = plan.effort() == Effort.QUICK ? plan.settings() : used[0];
                }
              });
    }
    if (question.real().has(RecordKind.INFEASIBLE)) {
      question
          .real()
          .read(
              RecordKind.INFEASIBLE,
              infeasible ->
                  of(real, infeasible.workloadId())
                      .putIfAbsent(infeasible.generation(), Side.without("does not fit")));
    }
    SearchSettings settings = question.change().apply(used[0]);
    Map<String, Map<Long, Side>> anew = new TreeMap<>();
    List<ShardingPlan> plans = new ArrayList<>();
    List<String> notes = new ArrayList<>();
    ReplayedPredictions.Plans planning =
        ReplayedPredictions.plans(
            question.models(),
            settings,
            outcome -> {
              if (outcome instanceof PlanningOutcome.Planned planned) {
                ShardingPlan plan = planned.plan();
                plans.add(plan);
                of(anew, plan.workloadId())
                    .merge(plan.generation(), Side.NONE.and(plan), (old, one) -> old.and(plan));
                progress.made(plans.size(), 0);
              } else if (outcome instanceof PlanningOutcome.Infeasible none) {
                InfeasibleWorkload infeasible = none.workload();
                of(anew, infeasible.workloadId())
                    .put(infeasible.generation(), Side.without("does not fit"));
              } else if (outcome instanceof PlanningOutcome.Failed failed) {
                notes.add("planning fails: " + failed.error());
              }
            });
    try (ModelPredictors towers = new ModelPredictors(question.models(), predictorOf)) {
      if (question.isPredicted()) {
        PredictionGroups groups =
            new PredictionGroups(group -> planning.plan(group, Instant.EPOCH));
        question
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
                question.events(),
                question.models(),
                towers,
                (event, group) -> {
                  if (!group.isEmpty() && scope.has(event.workloadId())) {
                    planning.plan(group, event.occurredAt());
                  }
                }));
      }
    }
    return new WhatIfPlan(lines(real, anew, scope), plans, settings, notes);
  }

  private static void real(Map<String, Map<Long, Side>> real, ShardingPlan plan) {
    Map<Long, Side> sides = of(real, plan.workloadId());
    sides.merge(plan.generation(), Side.NONE.and(plan), (old, one) -> old.and(plan));
    if (plan.effort() == Effort.QUICK) {
      for (long g = plan.firstGeneration(); g < plan.generation(); g++) {
        sides.putIfAbsent(g, Side.without("with " + plan.generation()));
      }
    }
  }

  private static Map<Long, Side> of(Map<String, Map<Long, Side>> sides, String workloadId) {
    return sides.computeIfAbsent(workloadId, id -> new TreeMap<>());
  }

  private static List<WhatIfRow> lines(
      Map<String, Map<Long, Side>> real, Map<String, Map<Long, Side>> anew, ReplayScope scope) {
    Map<String, TreeMap<Long, WhatIfRow>> lines = new TreeMap<>();
    for (Map<String, Map<Long, Side>> sides : List.of(real, anew)) {
      sides.forEach(
          (workload, byGeneration) ->
              byGeneration
                  .keySet()
                  .forEach(
                      generation -> {
                        if (scope.has(workload, generation)) {
                          lines
                              .computeIfAbsent(workload, id -> new TreeMap<>())
                              .put(
                                  generation,
                                  new WhatIfRow(
                                      workload,
                                      generation,
                                      side(real, workload, generation),
                                      side(anew, workload, generation)));
                        }
                      }));
    }
    return lines.values().stream().flatMap(l -> l.values().stream()).toList();
  }

  private static Side side(Map<String, Map<Long, Side>> sides, String workload, long generation) {
    return sides.getOrDefault(workload, Map.of()).getOrDefault(generation, Side.NONE);
  }
}
