package io.shardtide.replay;

import io.shardtide.cost.DatedPrediction;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.StepWire;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.PlanningHeader.PredictedGeneration;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.planning.Planner.Request;
import io.shardtide.replay.Difference.DifferenceCause;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Finds out why a recomputed plan differs from the recorded one: substitutes its inputs, one at a
 * time, until recomputing gives the recorded plan.
 */
final class Diagnosis {
  /**
   * Largest relative difference between predictions of one model on two processors: 100 times what
   * was measured (5e-7), and far below what moves a shard.
   */
  static final double TOLERANCE = 5e-5;

  private final ShardingPlan recorded;
  private final RecomputedPlan recomputed;
  private final Collection<SearchSettings> settings;
  private final Collection<ShardingPlan> plans;
  private final List<RecomputedPlan> otherModels;
  private final ModelPredictors predictors;

  /**
   * @param recorded the recorded plan
   * @param recomputed the plan recomputed from the inputs that the record names
   * @param settings settings to try
   * @param plans plans of the workload to try as the running plan
   * @param otherModels the plan recomputed from predictions of other models
   * @param predictors run the models again
   */
  Diagnosis(
      ShardingPlan recorded,
      RecomputedPlan recomputed,
      Collection<SearchSettings> settings,
      Collection<ShardingPlan> plans,
      List<RecomputedPlan> otherModels,
      ModelPredictors predictors) {
    this.recorded = recorded;
    this.recomputed = recomputed;
    this.settings = settings;
    this.plans = plans;
    this.otherModels = otherModels;
    this.predictors = predictors;
  }

  /** Returns the difference and its cause; each substitution costs a search. */
  Difference find() {
    if (recomputed.hasId(recorded.planId())) {
      return changedRecord();
    }
    return substituteSettings()
        .or(this::substitutePrevious)
        .or(this::substituteModel)
        .orElseGet(
            () ->
                recorded.format().isEmpty()
                    ? changedRecord()
                    : hasRecordedCosts()
                        ? difference(
                            DifferenceCause.CODE_VERSION,
                            "the inputs are equal and the recorded costs are correct; this version of the search finds another plan")
                        : predictionsOrCode());
  }

  private Difference changedRecord() {
    return difference(
        DifferenceCause.RECORD,
        "the record was changed after the plan was made: its id is %s, but its content hashes to %s"
            .formatted(recorded.planId(), recorded.contentId()));
  }

  private Optional<Difference> substituteSettings() {
    return settings.stream()
        .filter(s -> !s.equals(recorded.settings()))
        .filter(s -> reproduces(request(recomputed.request(), s)))
        .findFirst()
        .map(
            s ->
                difference(
                    DifferenceCause.SETTINGS,
                    "the recorded settings are %s; recomputing gives the recorded plan with %s"
                        .formatted(recorded.settings(), s)));
  }

  private Optional<Difference> substitutePrevious() {
    Request given = recomputed.request();
    if (given.running().isPresent() && reproduces(request(given, Optional.empty()))) {
      return Optional.of(
          difference(
              DifferenceCause.PREVIOUS_PLAN,
              "the recorded previous plan is %s; recomputing gives the recorded plan without a running plan"
                  .formatted(recorded.previousPlanId().orElse("none"))));
    }
    return plans.stream()
        .filter(p -> !p.planId().equals(recorded.planId()))
        .filter(p -> !recorded.previousPlanId().equals(Optional.of(p.planId())))
        .filter(p -> p.generation() <= recorded.generation())
        .filter(p -> reproduces(request(given, Optional.of(p))))
        .findFirst()
        .map(
            p ->
                difference(
                    DifferenceCause.PREVIOUS_PLAN,
                    "the recorded previous plan is %s; recomputing gives the recorded plan if %s was running"
                        .formatted(recorded.previousPlanId().orElse("none"), p.planId())));
  }

  private Optional<Difference> substituteModel() {
    return otherModels.stream()
        .filter(other -> other.hasId(recorded.planId()))
        .findFirst()
        .map(
            other ->
                difference(
                    DifferenceCause.MODEL,
                    "the recorded model is %s; recomputing gives the recorded plan with model %s"
                        .formatted(recorded.modelId(), other.request().predicted().modelId())));
  }

  private boolean reproduces(Request request) {
    return RecomputedPlan.of(request, recorded)
        .plan()
        .filter(
            plan ->
                plan.planId().equals(recorded.planId()) || PlanFields.sameResult(plan, recorded))
        .isPresent();
  }

  private Difference predictionsOrCode() {
    PredictedGeneration predicted = recomputed.request().predicted();
    List<TablePrediction> predictions =
        recomputed.request().tables().stream().map(DatedPrediction::prediction).toList();
    return predictors
        .deviation(predicted.modelId(), predictions, predicted.cluster())
        .filter(deviation -> deviation.relative() > TOLERANCE)
        .map(
            deviation ->
                difference(
                    DifferenceCause.PREDICTIONS,
                    "the recorded prediction of table %s at %s deviates by %.2g from model %s; the plan was made from other predictions"
                        .formatted(
                            deviation.table(),
                            deviation.part(),
                            deviation.relative(),
                            predicted.modelId())))
        .orElseGet(
            () ->
                sameTables(predictions)
                    ? difference(
                        DifferenceCause.CODE_VERSION,
                        "the inputs are equal; this version computes another cost for the recorded plan")
                    : difference(
                        DifferenceCause.PREDICTIONS,
                        "the recorded predictions and the plan have different tables"));
  }

  private boolean sameTables(List<TablePrediction> predictions) {
    Map<String, Integer> columns = new HashMap<>();
    recorded.shards().forEach(s -> columns.merge(s.table(), s.region().columnEnd(), Math::max));
    Map<String, Integer> predicted = new HashMap<>();
    predictions.forEach(p -> predicted.put(p.table().name(), p.table().columns()));
    return columns.equals(predicted);
  }

  /** Returns whether the recorded shards have the recorded costs, by the recorded predictions. */
  private boolean hasRecordedCosts() {
    Request request = recomputed.request();
    ClusterSpec cluster = request.predicted().cluster();
    if (!cluster.groupings().contains(recorded.groups())) {
      return false;
    }
    ClusterSpec group = cluster.group(recorded.groups());
    int devices = group.devices();
    if (recorded.deviceCosts().size() != devices) {
      return false;
    }
    Map<String, TablePrediction> byName = new HashMap<>();
    request.tables().stream()
        .flatMap(t -> t.prediction().inGroup(recorded.groups()).stream())
        .forEach(prediction -> byName.put(prediction.table().name(), prediction));
    Set<String> planned = new HashSet<>();
    for (Shard shard : recorded.shards()) {
      TablePrediction table = byName.get(shard.table());
      if (table == null || shard.columns() > table.table().columns() || shard.device() >= devices) {
        return false;
      }
      planned.add(shard.table());
    }
    StepCost cost =
        StepCost.of(
            List.copyOf(byName.values()),
            recorded.shards(),
            new StepWire(group, recorded.codecs()),
            request.model(),
            Slowdowns.of(request.slow(), recorded.groups(), devices));
    for (int d = 0; d < devices; d++) {
      DeviceCost expected = recorded.deviceCosts().get(d);
      if (expected.computeMs() != cost.computeMs()[d]
          || expected.forwardCommMs() != cost.forwardCommMs()[d]
          || expected.backwardCommMs() != cost.backwardCommMs()[d]) {
        return false;
      }
    }
    return planned.equals(byName.keySet());
  }

  private Difference difference(DifferenceCause cause, String explanation) {
    ReplayRow row = ReplayRow.of(recorded, Verdict.DIFFERS);
    return new Difference(
        row,
        cause,
        explanation,
        recomputed
            .plan()
            .map(plan -> PlanFields.describe(recorded, plan))
            .orElse(List.of("recomputing gives no plan: " + recomputed.failure())));
  }

  private static Request request(Request given, SearchSettings settings) {
    return new Request(
        given.workloadId(),
        given.firstGeneration(),
        given.predicted(),
        given.tables(),
        given.running(),
        given.effort(),
        settings,
        given.model(),
        given.slow());
  }

  private static Request request(Request given, Optional<ShardingPlan> running) {
    return new Request(
        given.workloadId(),
        given.firstGeneration(),
        given.predicted(),
        given.tables(),
        running,
        given.effort(),
        given.settings(),
        given.model(),
        given.slow());
  }
}
