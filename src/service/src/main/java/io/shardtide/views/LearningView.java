package io.shardtide.views;

import io.shardtide.state.DriftAlarm;
import io.shardtide.state.ModelDecision;
import java.time.Instant;
import java.util.List;
import java.util.OptionalDouble;

/**
 * Cost models, decisions, alarms and residuals of a hardware.
 *
 * @param hardware its name
 * @param models the models that took over, in the order of the log; the last one is current
 * @param decisions decisions about retrained models, the oldest first
 * @param alarms drift alarms, the oldest first
 * @param residuals measured over predicted cost over time
 * @param steps measured and predicted costs of whole steps
 */
public record LearningView(
    String hardware,
    List<PublishedModel> models,
    List<ModelDecision> decisions,
    List<DriftAlarm> alarms,
    List<ResidualHistory.ResidualPage> residuals,
    List<ResidualPoint> steps) {

  /**
   * A model that took over.
   *
   * @param modelId its id
   * @param since when it was published
   * @param predicts whether it is the current model
   * @param description the description on its card
   * @param simulated whether it was trained on simulated costs
   * @param computeSamples number of compute samples that it was trained on
   * @param error mean absolute relative error, as a fraction: on the recent held-out measurements
   *     of the decision that published it, otherwise on its card's test set
   * @param plans the latest kept plans that were made with it, the latest first, up to {@value
   *     #PLANS}
   * @param planCount number of kept plans that were made with it
   */
  public record PublishedModel(
      String modelId,
      Instant since,
      boolean predicts,
      String description,
      boolean simulated,
      int computeSamples,
      OptionalDouble error,
      List<PlanRef> plans,
      int planCount) {
    static final int PLANS = 20;
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
