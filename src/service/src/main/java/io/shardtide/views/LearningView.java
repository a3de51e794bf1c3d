package io.shardtide.views;

import io.shardtide.state.DriftAlarm;
import io.shardtide.state.ModelDecision;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;

/**
 * Cost models, decisions, alarms and residuals of a hardware.
 *
 * @param hardware its name
 * @param models the models that took over, in the order of the log; the last one is current
 * @param plans the kept plans that were made with a model, by its id
 * @param decisions decisions about retrained models, the oldest first
 * @param alarms drift alarms, the oldest first
 * @param residuals measured over predicted cost over time
 * @param steps measured and predicted costs of whole steps
 */
public record LearningView(
    String hardware,
    List<PublishedModel> models,
    SortedMap<String, ModelPlans> plans,
    List<ModelDecision> decisions,
    List<DriftAlarm> alarms,
    List<ResidualHistory.ResidualPage> residuals,
    List<ResidualPoint> steps) {

  /**
   * A model that took over.
   *
   * @param modelId its id
   * @param since when it was published
   * @param description the description on its card
   * @param simulated whether it was trained on simulated costs
   * @param computeSamples number of compute samples that it was trained on
   * @param error mean absolute relative error on its card's test set, as a fraction
   */
  public record PublishedModel(
      String modelId,
      Instant since,
      String description,
      boolean simulated,
      int computeSamples,
      Optional<Double> error) {}

  /**
   * The kept plans that were made with a model.
   *
   * @param count how many
   * @param latest the latest, the latest first, up to {@value #LATEST}
   */
  public record ModelPlans(int count, List<PlanRef> latest) {
    static final int LATEST = 20;
  }

  /**
   * A plan by its id.
   *
   * @param planId the plan
   * @param workloadId its workload
   */
  public record PlanRef(String planId, String workloadId) {}

  /**
   * Measured and predicted cost of a step.
   *
   * @param workloadId the workload
   * @param planId the plan that ran
   * @param modelId the model that predicted
   * @param measuredAt when it was measured
   * @param predictedMs predicted cost, in milliseconds
   * @param measuredMs measured cost, in milliseconds
   */
  public record ResidualPoint(
      String workloadId,
      String planId,
      String modelId,
      Instant measuredAt,
      double predictedMs,
      double measuredMs) {}
}
