package io.shardtide.views;

import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.ModelDecision;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;

/** Models, decisions, alarms and residuals of one hardware. */
final class HardwareProjection {
  /** How many models, decisions and alarms are kept, each. */
  static final int KEPT = 200;

  private static final String CARD_ERROR = "test.compute.mape";

  private final String hardware;
  private final ResidualHistory residuals = new ResidualHistory();
  private final Deque<ModelTakeover> models = new ArrayDeque<>();
  private final Deque<ModelDecision> decisions = new ArrayDeque<>();
  private final Deque<DriftAlarm> alarms = new ArrayDeque<>();

  private record ModelTakeover(
      String modelId,
      Instant at,
      String description,
      boolean simulated,
      int computeSamples,
      OptionalDouble cardError) {}

  HardwareProjection(String hardware) {
    this.hardware = hardware;
  }

  void apply(ModelBundle bundle, Instant at) {
    // Each instance publishes its models when it starts: the same model again is no takeover.
    if (models.isEmpty() || !models.getLast().modelId().equals(bundle.modelId())) {
      Double error = bundle.card().errors().get(CARD_ERROR);
      add(
          models,
          new ModelTakeover(
              bundle.modelId(),
              at,
              bundle.describe(),
              bundle.card().simulated(),
              bundle.card().computeSamples(),
              error == null ? OptionalDouble.empty() : OptionalDouble.of(error)));
    }
  }

  /** Returns whether a model is one of this hardware's, and was trained on simulated costs. */
  boolean isSimulated(String modelId) {
    return models.stream().anyMatch(m -> m.simulated() && m.modelId().equals(modelId));
  }

  void apply(ModelDecision decision) {
    add(decisions, decision);
  }

  void apply(DriftAlarm alarm) {
    add(alarms, alarm);
  }

  void apply(CostSample sample) {
    residuals.apply(sample);
  }

  void closeMeasurements() {
    residuals.closeMeasurements();
  }

  private static <T> void add(Deque<T> kept, T value) {
    kept.addLast(value);
    if (kept.size() > KEPT) {
      kept.removeFirst();
    }
  }

  /**
   * Returns the view.
   *
   * @param workloads the workloads on this hardware
   */
  LearningView view(Collection<WorkloadProjection> workloads) {
    Map<String, List<PlanSummary>> byModel = new TreeMap<>();
    List<LearningView.ResidualPoint> steps = new ArrayList<>();
    for (WorkloadProjection workload : workloads) {
      workload
          .plans()
          .forEach(
              plan -> byModel.computeIfAbsent(plan.modelId(), m -> new ArrayList<>()).add(plan));
      for (MeasuredStep measured : workload.measured()) {
        workload
            .plan(measured.planId())
            .map(WorkloadProjection.LocatedPlan::summary)
            .ifPresent(plan -> steps.add(step(plan, measured)));
      }
    }
    List<LearningView.PublishedModel> published = new ArrayList<>();
    int left = models.size();
    for (ModelTakeover model : models) {
      published.add(
          published(model, --left == 0, byModel.getOrDefault(model.modelId(), List.of())));
    }
    return new LearningView(
        hardware, published, List.copyOf(decisions), List.copyOf(alarms), residuals.pages(), steps);
  }

  private static LearningView.ResidualPoint step(PlanSummary plan, MeasuredStep measured) {
    return new LearningView.ResidualPoint(
        plan.workloadId(),
        plan.planId(),
        plan.modelId(),
        measured.measuredAt(),
        plan.predictedMs(),
        measured.stepMs());
  }

  private LearningView.PublishedModel published(
      ModelTakeover model, boolean predicts, List<PlanSummary> plans) {
    Optional<ModelDecision> decision =
        decisions.stream()
            .filter(d -> d.published() && d.challengerId().equals(Optional.of(model.modelId())))
            .filter(d -> d.challengerRecentError().isPresent())
            .reduce((first, second) -> second);
    return new LearningView.PublishedModel(
        model.modelId(),
        model.at(),
        predicts,
        model.description(),
        model.simulated(),
        model.computeSamples(),
        decision.map(ModelDecision::challengerRecentError).orElse(model.cardError()),
        plans.stream()
            .sorted(java.util.Comparator.comparing(PlanSummary::createdAt).reversed())
            .limit(LearningView.PublishedModel.PLANS)
            .map(plan -> new LearningView.PlanRef(plan.planId(), plan.workloadId()))
            .toList(),
        plans.size());
  }
}
