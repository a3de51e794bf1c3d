package io.shardtide.views;

import io.shardtide.cost.ModelBundle;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.ModelDecision;
import io.shardtide.views.LearningView.ModelPlans;
import io.shardtide.views.LearningView.PlanRef;
import io.shardtide.views.LearningView.PublishedModel;
import io.shardtide.views.LearningView.ResidualPoint;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Models, decisions, alarms and residuals of one hardware. */
final class HardwareProjection {
  /** How many models, decisions and alarms are kept, each. */
  static final int KEPT = 200;

  private static final String CARD_ERROR = "test.compute.mape";

  private final String hardware;
  final ResidualHistory residuals = new ResidualHistory();
  private final Deque<PublishedModel> models = new ArrayDeque<>();
  final Deque<ModelDecision> decisions = new ArrayDeque<>();
  final Deque<DriftAlarm> alarms = new ArrayDeque<>();

  HardwareProjection(String hardware) {
    this.hardware = hardware;
  }

  void apply(ModelBundle bundle, Instant at) {
    // Each instance publishes its models when it starts: the same model again is no takeover.
    if (models.isEmpty() || !models.getLast().modelId().equals(bundle.modelId())) {
      PublishedModel model =
          new PublishedModel(
              bundle.modelId(),
              at,
              bundle.describe(),
              bundle.card().simulated(),
              bundle.card().computeSamples(),
              Optional.ofNullable(bundle.card().errors().get(CARD_ERROR)));
      Recent.add(models, model, KEPT);
    }
  }

  /** Returns whether a model is one of this hardware's, and was trained on simulated costs. */
  boolean isSimulated(String modelId) {
    return models.stream().anyMatch(m -> m.simulated() && m.modelId().equals(modelId));
  }

  /**
   * Returns the view.
   *
   * @param workloads the workloads on this hardware
   */
  LearningView view(Collection<WorkloadProjection> workloads) {
    SortedMap<String, ModelPlans> plans =
        workloads.stream()
            .flatMap(workload -> workload.plans().stream())
            .collect(
                Collectors.groupingBy(
                    PlanSummary::modelId,
                    TreeMap::new,
                    Collectors.collectingAndThen(Collectors.toList(), HardwareProjection::latest)));
    List<ResidualPoint> steps = new ArrayList<>();
    for (WorkloadProjection workload : workloads) {
      for (MeasuredStep measured : workload.measured()) {
        workload
            .plan(measured.planId())
            .ifPresent(plan -> steps.add(step(plan.summary(), measured)));
      }
    }
    return new LearningView(
        hardware,
        List.copyOf(models),
        plans,
        List.copyOf(decisions),
        List.copyOf(alarms),
        residuals.pages(),
        steps);
  }

  private static ModelPlans latest(List<PlanSummary> plans) {
    return new ModelPlans(
        plans.size(),
        plans.stream()
            .sorted(Comparator.comparing(PlanSummary::createdAt).reversed())
            .limit(ModelPlans.LATEST)
            .map(plan -> new PlanRef(plan.planId(), plan.workloadId()))
            .toList());
  }

  private static ResidualPoint step(PlanSummary plan, MeasuredStep measured) {
    return new ResidualPoint(
        plan.workloadId(),
        plan.planId(),
        plan.modelId(),
        measured.measuredAt(),
        plan.predictedMs(),
        measured.stepMs());
  }
}
