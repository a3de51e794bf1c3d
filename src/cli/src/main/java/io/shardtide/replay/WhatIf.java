package io.shardtide.replay;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

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
 * result with the recorded plans, and with what the same search finds without the change: recorded
 * plans may be those of background searches, which have more time.
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
   * @param unchanged its outcome here without the change
   * @param hypothetical its outcome here with it
   */
  public record WhatIfRow(
      String workloadId,
      long generation,
      GenerationOutcome recorded,
      GenerationOutcome unchanged,
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
   * What to plan.
   *
   * @param events the records whose predictions are planned; without any, its events are predicted
   * @param scope which workloads and generations
   * @param models the models by id; the last one of a hardware makes new predictions
   * @param slow slow devices of all workloads
   * @param change changes the settings that were recorded last
   */
  public record WhatIfSettings(
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
    boolean[] follows = {records.has(COST_PREDICTIONS)};
    PredictionGroups.read(
        records,
        workload -> true,
        group -> follows[0] &= history.advance(group).problem().isEmpty());
    return follows[0];
  }

  /**
   * Plans the events with and without a change.
   *
   * @param recorded the records to compare with
   * @param unchanged what to plan without the change
   * @param changed what to plan with it; equal if nothing is changed
   * @param predictorOf runs a model's table tower
   * @param progress called after each plan
   * @throws IOException if the records cannot be read
   */
  public static WhatIfResult run(
      LogRecords recorded,
      WhatIfSettings unchanged,
      WhatIfSettings changed,
      Function<ModelBundle, TowerPredictor> predictorOf,
      Replay.ReplayProgress progress)
      throws IOException {
    Map<GenerationKey, GenerationOutcome> before = new TreeMap<>();
    SearchSettings used = readRecorded(recorded, changed.scope(), before);
    ReplayResult.Tally tally = new ReplayResult.Tally();
    Map<GenerationKey, GenerationOutcome> after = plan(changed, used, tally, predictorOf, progress);
    Map<GenerationKey, GenerationOutcome> same =
        unchanged.equals(changed)
            ? after
            : plan(unchanged, used, new ReplayResult.Tally(), predictorOf, progress);
    TreeSet<GenerationKey> generations = new TreeSet<>(before.keySet());
    generations.addAll(after.keySet());
    generations.removeIf(of -> !changed.scope().has(of.workloadId(), of.generation()));
    return new WhatIfResult(
        generations.stream()
            .map(
                of ->
                    new WhatIfRow(
                        of.workloadId(),
                        of.generation(),
                        before.getOrDefault(of, GenerationOutcome.NONE),
                        same.getOrDefault(of, GenerationOutcome.NONE),
                        after.getOrDefault(of, GenerationOutcome.NONE)))
            .toList(),
        tally.plans,
        changed.change().apply(used),
        Stream.concat(tally.problems.stream(), tally.notes.stream()).toList());
  }

  private static Map<GenerationKey, GenerationOutcome> plan(
      WhatIfSettings request,
      SearchSettings used,
      ReplayResult.Tally tally,
      Function<ModelBundle, TowerPredictor> predictorOf,
      Replay.ReplayProgress progress)
      throws IOException {
    Map<GenerationKey, GenerationOutcome> outcomes = new TreeMap<>();
    GenerationPlanner planner =
        new GenerationPlanner(request.models(), request.change().apply(used), request.slow());
    try (ModelPredictors predictors = new ModelPredictors(request.models(), predictorOf)) {
      new GenerationReader(request.events(), request.scope(), request.models(), predictors, tally)
          .read(
              (group, occurredAt) -> {
                PlanningOutcome outcome = planner.plan(group, occurredAt).orElse(null);
                if (outcome instanceof PlanningOutcome.Planned planned) {
                  tally.plans.add(planned.plan());
                  GenerationOutcome.add(outcomes, planned.plan());
                  progress.planned(tally.plans.size(), 0);
                } else if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
                  outcomes.put(
                      new GenerationKey(
                          infeasible.workload().workloadId(), infeasible.workload().generation()),
                      GenerationOutcome.without("does not fit"));
                } else if (outcome instanceof PlanningOutcome.Failed failed) {
                  tally.problems.add("planning failed: " + failed.error());
                }
              });
    }
    return outcomes;
  }

  /** Reads the recorded outcomes; returns the settings that were used last. */
  private static SearchSettings readRecorded(
      LogRecords records, ReplayScope scope, Map<GenerationKey, GenerationOutcome> recorded)
      throws IOException {
    SearchSettings[] used = {SearchSettings.DEFAULTS};
    records.read(
        SHARDING_PLANS,
        plan -> {
          if (!scope.has(plan.workloadId())) {
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
    records.read(
        INFEASIBLE_WORKLOADS,
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
