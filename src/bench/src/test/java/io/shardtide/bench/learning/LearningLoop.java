package io.shardtide.bench.learning;

import io.shardtide.bench.learning.SimulatedMachine.SimulatedStep;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostModels;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.learn.Feedback;
import io.shardtide.learn.FeedbackStep;
import io.shardtide.learn.FeedbackTables;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.state.TrainingState;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningOutcome;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningTables;
import io.shardtide.step.Predictors;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.testing.Plans;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.UUID;

/**
 * The real steps of the service, one after another, on a simulated machine: a workload whose tables
 * change, its plans, measured costs, retrainings.
 */
final class LearningLoop implements Predictors, CostModels, AutoCloseable {
  private static final Instant TIME = Instant.EPOCH;
  private static final int STEPS_PER_REPORT = 10;

  private final String workload;
  private final RetrainingRun training =
      new RetrainingRun(
          Retraining::retrain,
          TensorFlowTowers::new,
          TrainingPolicy.DEFAULTS,
          InstantSource.system());
  private final Workloads workloads = Workloads.inMemory();
  private final PlanningTables planned = PlanningTables.inMemory();
  private final Map<String, AcceptedStatus> accepted = new HashMap<>();
  private final FeedbackTables compared = Plans.feedbackTables(accepted);
  private final WorkloadStep predicting = new WorkloadStep(this);
  private final PlanningStep planning =
      new PlanningStep(
          this, PlanningSettings.DEFAULTS, new Planner(InstantSource.fixed(TIME), () -> 0));
  private final FeedbackStep feedback =
      new FeedbackStep(id -> get(id).bundle().proxyHardware().isPresent());
  private final Map<String, CostModel> models = new HashMap<>();
  private final List<TowerPredictor> opened = new ArrayList<>();
  private final List<CostSample> samples = new ArrayList<>();
  private final List<DriftAlarm> alarms = new ArrayList<>();
  private final List<ModelDecision> decisions = new ArrayList<>();
  private TowerPredictor predictor;
  private ModelBundle champion;
  private TrainingState state = TrainingState.begin(0);
  private long offset;
  private int reports;
  private int reshards;

  /**
   * @param workload id of the workload
   * @param model the first model
   */
  LearningLoop(String workload, ModelBundle model) {
    this.workload = workload;
    takeOver(model);
  }

  private void takeOver(ModelBundle model) {
    champion = model;
    models.put(model.modelId(), new CostModel(model));
    predictor = new TensorFlowTowers(model);
    opened.add(predictor);
  }

  /** Returns the current model. */
  ModelBundle champion() {
    return champion;
  }

  /** Returns how many plans moved shards. */
  int reshards() {
    return reshards;
  }

  /** Returns the alarms, in order. */
  List<DriftAlarm> alarms() {
    return alarms;
  }

  /** Returns the decisions, in order. */
  List<ModelDecision> decisions() {
    return decisions;
  }

  /** Applies changes and plans. */
  void change(List<Change> changes) {
    SourcePosition source = new SourcePosition("changes", 0, offset++);
    onPredictions(
        predicting.apply(
            workloads,
            source,
            new WorkloadChange(
                UUID.nameUUIDFromBytes(source.toString().getBytes(StandardCharsets.UTF_8)),
                workload,
                TIME,
                "bench",
                OptionalLong.empty(),
                changes)));
  }

  private void onPredictions(List<CostPredictions> parts) {
    for (CostPredictions part : parts) {
      planning.onPredictions(planned, part);
      feedback.onPredictions(compared, part);
    }
    planning.plan(planned, workload).ifPresent(this::publish);
  }

  private void publish(PlanningOutcome outcome) {
    if (outcome instanceof PlanningOutcome.Planned next) {
      feedback.onPlan(compared, next.plan());
      reshards += next.plan().transition().moves().isEmpty() ? 0 : 1;
      PlanStatus status =
          new PlanStatus(
              workload,
              next.plan().planId(),
              PlanStatus.StatusKind.ADOPTED,
              (long) STEPS_PER_REPORT * reports,
              Optional.empty(),
              "bench",
              "run",
              TIME,
              1,
              1);
      accepted.put(workload, planning.report(planned, status));
    } else if (outcome instanceof PlanningOutcome.Failed failed) {
      throw new IllegalStateException(failed.error());
    } else {
      throw new IllegalStateException("The workload must fit, got " + outcome);
    }
  }

  /** Searches in the background. */
  void search() {
    planning
        .backgroundSearch(planned, workload)
        .ifPresent(
            task -> planning.finish(planned, task, planning.search(task)).ifPresent(this::publish));
  }

  /** Returns the running plan. */
  ShardingPlan plan() {
    return planned.latest(workload).orElseThrow();
  }

  /** Returns the workload's tables, by name. */
  List<TableSpec> tables() {
    return List.copyOf(workloads.tables().range(workload).values());
  }

  /** Returns the workload's cluster. */
  ClusterSpec cluster() {
    return workloads.header(workload).cluster().orElseThrow();
  }

  /**
   * Reports a step of the running plan, and retrains if that is due.
   *
   * @param machine runs it
   * @param reporters how right the report is
   * @param noise standard deviation of each number, as a share of it
   * @param random draws the noise
   */
  void measure(SimulatedMachine machine, Reporters reporters, double noise, Random random) {
    int report = reports++;
    long lastStep = STEPS_PER_REPORT * (report + 1L);
    ShardingPlan plan = plan();
    SimulatedStep step =
        reporters.reported(
            machine.measure(tables(), plan.shards(), cluster(), noise, random), report, random);
    Feedback result =
        feedback.measure(
            compared,
            new MeasuredCosts(
                "measurement-" + report,
                workload,
                plan.planId(),
                "run",
                lastStep,
                STEPS_PER_REPORT,
                step.devices(),
                step.collectives(),
                reporters.source(report),
                TIME));
    for (DriftAlarm alarm : result.alarms()) {
      alarms.add(alarm);
      if (alarm.kind() == DriftAlarm.AlarmKind.MODEL
          && alarm.modelId().equals(champion.modelId())) {
        state = state.alarmed(alarm.modelId());
      }
    }
    for (CostSample sample : result.samples()) {
      samples.add(sample);
      state = state.received(sample.cost() instanceof CostSample.Computation);
    }
    state =
        champion.proxyHardware().isPresent()
            ? state.coldStarted(champion.modelId())
            : state.forModel(champion.modelId());
    state.due(training.policy(), 0).ifPresent(this::retrain);
  }

  private void retrain(ModelDecision.Trigger trigger) {
    OptionalInt driftFrom =
        state.driftFrom().isPresent()
            ? OptionalInt.of((int) state.driftFrom().getAsLong())
            : OptionalInt.empty();
    RetrainingRun.RetrainingResult result = training.run(trigger, champion, samples, driftFrom);
    decisions.add(result.decision());
    state = state.decided(result.decision().published(), 0);
    if (result.challenger().isPresent()) {
      takeOver(result.challenger().get());
      onPredictions(predicting.repredict(workloads, workload, part -> {}));
    }
  }

  @Override
  public Optional<TowerPredictor> of(String hardware) {
    return Optional.of(predictor).filter(p -> hardware.equals(champion.hardware()));
  }

  @Override
  public Optional<TowerPredictor> begin(ClusterSpec cluster) {
    return Optional.empty();
  }

  @Override
  public SortedSet<String> hardware() {
    return new TreeSet<>(List.of(champion.hardware()));
  }

  @Override
  public CostModel get(String modelId) {
    return models.get(modelId);
  }

  @Override
  public void close() {
    opened.forEach(TowerPredictor::close);
  }
}
