package io.shardtide.replay;

import io.shardtide.cost.CostModels;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.PlanningHeader.PredictedGeneration;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.planning.Planner;
import io.shardtide.planning.PlanningOutcome;
import io.shardtide.planning.PlanningStep;
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
 * Makes the plans on record again, each from what is on record, and compares ids. Where no plan was
 * recorded, plans each generation by itself, in order.
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
  private Optional<Deviations> deviations = Optional.empty();

  /** Hears how far a replay is. */
  @FunctionalInterface
  public interface ReplayProgress {
    /**
     * Another plan was made.
     *
     * @param plans how many now
     * @param of how many there will be; 0 if nobody knows
     */
    void made(int plans, int of);
  }

  /**
   * @param records what is on record
   * @param scope what is looked at
   * @param bundles the models by id; the last of each kind of hardware predicts, where predictions
   *     are not on record
   * @param predictorOf runs a model's table tower
   * @param progress hears of each plan
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

  /** The largest deviation of what was predicted anew. */
  private static final class Deviations {
    private final ModelPredictors towers;
    private long tables;
    private double largest;
    private String where = "";

    Deviations(ModelPredictors towers) {
      this.towers = towers;
    }

    void add(List<CostPredictions> group) {
      CostPredictions first = group.get(0);
      tables += group.stream().filter(part -> part.update().isPresent()).count();
      towers
          .deviation(group)
          .filter(deviation -> deviation.relative() > largest)
          .ifPresent(
              deviation -> {
                largest = deviation.relative();
                where =
                    "; table %s at %d columns, generation %d of %s"
                        .formatted(
                            deviation.table(),
                            deviation.width(),
                            first.generation(),
                            first.workloadId());
              });
    }
  }

  /**
   * Runs the replay.
   *
   * @param repredict whether predictions on record are made anew beside it and compared
   * @throws IOException if the records cannot be read
   */
  public ReplayResult run(boolean repredict) throws IOException {
    try (ModelPredictors towers = new ModelPredictors(bundles, predictorOf)) {
      boolean predicted = records.has(RecordKind.PREDICTIONS);
      deviations = repredict && predicted ? Optional.of(new Deviations(towers)) : Optional.empty();
      if (repredict && !predicted) {
        notes.add("no predictions are on record, so that there is nothing to compare them with");
      }
      return records.has(RecordKind.PLANS) ? again(towers) : anew(towers);
    }
  }

  private ReplayResult anew(ModelPredictors towers) throws IOException {
    List<ReplayRow> rows = new ArrayList<>();
    List<ShardingPlan> plans = new ArrayList<>();
    ReplayedPredictions.Plans planning =
        ReplayedPredictions.plans(
            bundles,
            SearchSettings.DEFAULTS,
            outcome -> {
              if (outcome instanceof PlanningOutcome.Planned planned) {
                if (scope.has(planned.plan())) {
                  rows.add(ReplayRow.of(planned.plan(), Verdict.NOT_RECORDED));
                  plans.add(planned.plan());
                }
                progress.made(plans.size(), 0);
              } else if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
                notes.add(
                    "generation %d of %s does not fit: %s"
                        .formatted(
                            infeasible.workload().generation(),
                            infeasible.workload().workloadId(),
                            infeasible.workload().shortfall().message()));
              } else if (outcome instanceof PlanningOutcome.Failed failed) {
                problems.add("planning fails: " + failed.error());
              }
            });
    predictions(towers, planning::plan);
    return result(rows, plans, Optional.empty());
  }

  /** What takes predictions as they come. */
  @FunctionalInterface
  private interface Taker {
    void take(List<CostPredictions> group, Instant occurredAt);
  }

  /** Shows all predictions of the scope's workloads: those on record or, without, new ones. */
  private void predictions(ModelPredictors towers, Taker taker) throws IOException {
    if (!records.has(RecordKind.PREDICTIONS)) {
      notes.addAll(
          ReplayedPredictions.predict(
              records,
              bundles,
              towers,
              (event, group) -> {
                if (!group.isEmpty() && scope.has(event.workloadId())) {
                  taker.take(group, event.occurredAt());
                }
              }));
      return;
    }
    GenerationHistory history = new GenerationHistory();
    boolean checks = records.has(RecordKind.EVENTS);
    if (checks) {
      records.read(
          RecordKind.EVENTS,
          event -> {
            if (scope.has(event.workloadId())) {
              history.add(event);
            }
          });
    }
    PredictionGroups groups =
        new PredictionGroups(
            group -> {
              Instant occurredAt = Instant.EPOCH;
              if (checks) {
                GenerationHistory.GenerationStep step = history.advance(group);
                step.problem().ifPresent(problem -> contradiction(group.get(0), problem));
                if (!step.applied().isEmpty()) {
                  occurredAt = step.applied().get(step.applied().size() - 1).event().occurredAt();
                }
              }
              deviations.ifPresent(all -> all.add(group));
              taker.take(group, occurredAt);
            });
    records.read(
        RecordKind.PREDICTIONS,
        part -> {
          if (scope.has(part.workloadId())) {
            groups.accept(part);
          }
        });
    groups.unfinished().ifPresent(problems::add);
    if (history.left() > 0) {
      notes.add(
          "%,d events at the end are not predicted on record: rejected, before a cluster was set, or not applied yet"
              .formatted(history.left()));
    }
  }

  private void contradiction(CostPredictions part, String problem) {
    problems.add(
        "the prediction of generation %d of %s does not follow from the events: %s"
            .formatted(part.generation(), part.workloadId(), problem));
  }

  private ReplayResult again(ModelPredictors towers) throws IOException {
    RecordedPlans recorded = RecordedPlans.read(records, scope);
    MemoryPlanningStore store = new MemoryPlanningStore();
    PlanningStep step =
        new PlanningStep(
            models,
            PlanningSettings.eachGeneration(SearchSettings.DEFAULTS),
            new Planner(() -> Instant.EPOCH, () -> 0L));
    int[] made = {0};
    predictions(
        towers,
        (group, occurredAt) -> {
          group.forEach(part -> step.take(store, part));
          CostPredictions last = group.get(0);
          recorded.answers(last.workloadId()).predicted(last.generation());
          for (RecordedPlans.RecordedPlan entry :
              recorded.waiting(last.workloadId(), last.generation())) {
            attempt(recorded, entry, last, store);
            progress.made(Math.min(++made[0], recorded.size()), recorded.size());
          }
        });
    List<ReplayRow> rows = new ArrayList<>();
    List<ShardingPlan> plans = new ArrayList<>();
    for (RecordedPlans.RecordedPlan entry : recorded.entries()) {
      rows.add(ReplayRow.of(entry.plan(), entry.verdict()));
      entry.made().ifPresent(plans::add);
    }
    noteEarlierFormats(recorded);
    Optional<Difference> first = firstDifference(recorded, towers);
    rows.addAll(flaws(recorded));
    return result(rows, plans, first);
  }

  /** Makes a plan again from a group of predictions, if they are what the plan names. */
  private void attempt(
      RecordedPlans recorded,
      RecordedPlans.RecordedPlan entry,
      CostPredictions part,
      MemoryPlanningStore store) {
    ShardingPlan plan = entry.plan();
    boolean named = part.modelId().equals(plan.modelId());
    if (!named && entry.isWhole()) {
      entry.predictedBy(part.modelId());
      return;
    }
    Optional<ShardingPlan> running = Optional.empty();
    if (plan.previousPlanId().isPresent()) {
      running = recorded.made(plan.workloadId(), plan.previousPlanId().get());
      if (running.isEmpty()) {
        entry.missing(
            Difference.DifferenceCause.PREVIOUS_PLAN,
            "plan %s, which was running, is not on record".formatted(plan.previousPlanId().get()));
        return;
      }
    }
    if (!bundles.containsKey(part.modelId())) {
      entry.missing(
          Difference.DifferenceCause.MODEL,
          "model %s is missing; there are %s. Maybe name its file with --model"
              .formatted(part.modelId(), bundles.keySet()));
      return;
    }
    RecomputedPlan attempt =
        RecomputedPlan.of(
            new Planner.Request(
                plan.workloadId(),
                plan.firstGeneration(),
                new PredictedGeneration(
                    part.generation(), part.source(), part.modelId(), part.cluster()),
                store.tables(plan.workloadId()),
                running,
                plan.effort(),
                plan.settings(),
                models.get(part.modelId())),
            plan);
    if (named) {
      entry.attempted(attempt);
    } else {
      entry.otherModel(attempt);
    }
  }

  private void noteEarlierFormats(RecordedPlans recorded) {
    Map<Integer, Long> formats = new TreeMap<>();
    for (RecordedPlans.RecordedPlan entry : recorded.entries()) {
      entry
          .plan()
          .format()
          .ifPresent(
              format -> {
                if (format != ShardingPlan.FORMAT) {
                  formats.merge(format, 1L, Long::sum);
                }
              });
    }
    formats.forEach(
        (format, plans) ->
            notes.add(
                "%,d plans on record are made by plan format %d, this build makes format %d: compared in everything but the text of the reason"
                    .formatted(plans, format, ShardingPlan.FORMAT)));
  }

  private static Optional<Difference> firstDifference(
      RecordedPlans recorded, ModelPredictors towers) {
    Optional<RecordedPlans.RecordedPlan> first =
        recorded.entries().stream()
            .filter(entry -> entry.verdict() != Verdict.EQUAL)
            .min(Comparator.comparing(entry -> entry.plan().workloadId()));
    return first.map(entry -> entry.difference(recorded, towers));
  }

  private List<ReplayRow> flaws(RecordedPlans recorded) {
    List<ReplayRow> rows = new ArrayList<>();
    Map<String, AnsweredGenerations> sorted = new TreeMap<>(recorded.answers());
    sorted.forEach(
        (workload, answers) -> {
          for (AnsweredGenerations.Flaw flaw : answers.flaws()) {
            if (flaw.last() < scope.from() || flaw.first() > scope.to()) {
              continue;
            }
            problems.add(
                "%s of %s %s answered %s"
                    .formatted(
                        generations(flaw.first(), flaw.last()),
                        workload,
                        flaw.first() == flaw.last() ? "is" : "are",
                        flaw.isTwice()
                            ? "more than once"
                            : "by no plan on record, and by no report that it does not fit"));
            if (!flaw.isTwice()) {
              rows.add(notRecorded(workload, flaw.first(), flaw.last()));
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
      List<ReplayRow> rows, List<ShardingPlan> plans, Optional<Difference> first) {
    Optional<String> deviation =
        deviations.map(
            all ->
                "%,d predictions of tables made anew: the largest relative difference is %.2g%s"
                    .formatted(all.tables, all.largest, all.where));
    deviations
        .filter(all -> all.largest > Diagnosis.TOLERANCE)
        .ifPresent(
            all ->
                problems.add(
                    "predictions on record are off by up to %.2g of what their model says; up to %.0e is what processors differ by"
                        .formatted(all.largest, Diagnosis.TOLERANCE)));
    return new ReplayResult(
        rows.stream().sorted(ReplayRow.BY_WORKLOAD).toList(),
        plans,
        first,
        problems,
        notes,
        deviation);
  }
}
