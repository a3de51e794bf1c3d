package io.shardtide.replay;

import io.shardtide.cost.DatedPrediction;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
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
 * Finds out why a plan that was made again is another one: exchanges what it was made from, one
 * thing at a time, until the plan on record comes out.
 */
final class Diagnosis {
  /**
   * What recorded predictions may differ by from what the same model says on another processor: a
   * hundred times what was measured (5e-7), and far below what moves a shard.
   */
  static final double TOLERANCE = 5e-5;

  private final ShardingPlan recorded;
  private final RecomputedPlan attempt;
  private final Collection<SearchSettings> settings;
  private final Collection<ShardingPlan> plans;
  private final List<RecomputedPlan> otherModels;
  private final ModelPredictors towers;

  /**
   * @param recorded the plan on record
   * @param attempt what was made from what the record names
   * @param settings settings that were ever used
   * @param plans plans of the workload
   * @param otherModels the same generation as other models predicted it
   * @param towers predicts anew
   */
  Diagnosis(
      ShardingPlan recorded,
      RecomputedPlan attempt,
      Collection<SearchSettings> settings,
      Collection<ShardingPlan> plans,
      List<RecomputedPlan> otherModels,
      ModelPredictors towers) {
    this.recorded = recorded;
    this.attempt = attempt;
    this.settings = settings;
    this.plans = plans;
    this.otherModels = otherModels;
    this.towers = towers;
  }

  /** Returns what was found; every question costs a search. */
  Difference find() {
    if (attempt.hasId(recorded.planId())) {
      return changedRecord();
    }
    return exchangedSettings()
        .or(this::exchangedPrevious)
        .or(this::exchangedModel)
        .orElseGet(
            () ->
                recorded.format().isEmpty()
                    ? changedRecord()
                    : costsAreAsRecorded()
                        ? difference(
                            DifferenceCause.CODE_VERSION,
                            "what it was made from is equal, and the plan on record costs what it"
                                + " says; this version finds another plan")
                        : predictionsOrCode());
  }

  private Difference changedRecord() {
    return difference(
        DifferenceCause.RECORD,
        "the plan was changed after it was made: it says that its id is %s, and its content gives %s"
            .formatted(recorded.planId(), recorded.contentId()));
  }

  private Optional<Difference> exchangedSettings() {
    return settings.stream()
        .filter(s -> !s.equals(recorded.settings()))
        .filter(s -> gives(request(attempt.request(), s)))
        .findFirst()
        .map(
            s ->
                difference(
                    DifferenceCause.SETTINGS,
                    "on record are %s; the plan on record comes out with %s"
                        .formatted(recorded.settings(), s)));
  }

  private Optional<Difference> exchangedPrevious() {
    Request given = attempt.request();
    if (given.running().isPresent() && gives(request(given, Optional.empty()))) {
      return Optional.of(
          difference(
              DifferenceCause.PREVIOUS_PLAN,
              "on record is %s; the plan on record comes out if no plan was running"
                  .formatted(recorded.previousPlanId().orElse("none"))));
    }
    return plans.stream()
        .filter(p -> !p.planId().equals(recorded.planId()))
        .filter(p -> !recorded.previousPlanId().equals(Optional.of(p.planId())))
        .filter(p -> p.generation() <= recorded.generation())
        .filter(p -> gives(request(given, Optional.of(p))))
        .findFirst()
        .map(
            p ->
                difference(
                    DifferenceCause.PREVIOUS_PLAN,
                    "on record is %s; the plan on record comes out if %s was running"
                        .formatted(recorded.previousPlanId().orElse("none"), p.planId())));
  }

  private Optional<Difference> exchangedModel() {
    return otherModels.stream()
        .filter(other -> other.hasId(recorded.planId()))
        .findFirst()
        .map(
            other ->
                difference(
                    DifferenceCause.MODEL,
                    "on record is %s; the plan on record comes out with %s"
                        .formatted(recorded.modelId(), other.request().predicted().modelId())));
  }

  private boolean gives(Request request) {
    return RecomputedPlan.of(request, recorded)
        .plan()
        .filter(
            plan ->
                plan.planId().equals(recorded.planId()) || PlanFields.sameFinding(plan, recorded))
        .isPresent();
  }

  private Difference predictionsOrCode() {
    PredictedGeneration predicted = attempt.request().predicted();
    List<TablePrediction> predictions =
        attempt.request().tables().stream().map(DatedPrediction::prediction).toList();
    return towers
        .deviation(predicted.modelId(), predictions, predicted.cluster().batchSize())
        .filter(deviation -> deviation.relative() > TOLERANCE)
        .map(
            deviation ->
                difference(
                    DifferenceCause.PREDICTIONS,
                    "the prediction on record of table %s at %d columns is off by %.2g of what model %s says; the plan was made from other predictions"
                        .formatted(
                            deviation.table(),
                            deviation.width(),
                            deviation.relative(),
                            predicted.modelId())))
        .orElseGet(
            () ->
                sameTables(predictions)
                    ? difference(
                        DifferenceCause.CODE_VERSION,
                        "what it was made from is equal; this version gives the plan on record"
                            + " another cost")
                    : difference(
                        DifferenceCause.PREDICTIONS,
                        "the predictions on record are of other tables than the plan"));
  }

  private boolean sameTables(List<TablePrediction> predictions) {
    Map<String, Integer> columns = new HashMap<>();
    recorded.shards().forEach(s -> columns.merge(s.table(), s.columns(), Integer::sum));
    Map<String, Integer> predicted = new HashMap<>();
    predictions.forEach(p -> predicted.put(p.table().name(), p.table().columns()));
    return columns.equals(predicted);
  }

  /** Returns whether the shards on record cost what is on record, by the predictions on record. */
  private boolean costsAreAsRecorded() {
    Request request = attempt.request();
    int devices = request.predicted().cluster().devices();
    if (recorded.deviceCosts().size() != devices) {
      return false;
    }
    Map<String, TablePrediction> byName = new HashMap<>();
    request.tables().forEach(t -> byName.put(t.prediction().table().name(), t.prediction()));
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
            request.predicted().cluster(),
            request.model());
    for (int d = 0; d < devices; d++) {
      DeviceCost said = recorded.deviceCosts().get(d);
      if (said.computeMs() != cost.computeMs()[d]
          || said.forwardCommMs() != cost.forwardCommMs()[d]
          || said.backwardCommMs() != cost.backwardCommMs()[d]) {
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
        attempt
            .plan()
            .map(made -> PlanFields.describe(recorded, made))
            .orElse(List.of("no plan was made: " + attempt.failure())));
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
        given.model());
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
        given.model());
  }
}
