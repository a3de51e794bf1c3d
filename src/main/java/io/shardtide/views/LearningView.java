package io.shardtide.views;

import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.ModelDecision;
import java.time.Instant;
import java.util.List;
import java.util.OptionalDouble;

/**
 * What was learned of a hardware.
 *
 * @param hardware its name
 * @param models the models that took over, in the order of the log; the last one predicts
 * @param decisions whether retrained models took over, the oldest first
 * @param alarms where measured costs went away, the oldest first
 * @param residuals measured over predicted cost over time
 * @param steps measured beside predicted cost of whole steps
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
   * @param predicts whether it is the one that predicts now
   * @param description what its card says
   * @param simulated whether it was trained on simulated costs
   * @param computeSamples samples of computations that it was trained on
   * @param error mean absolute relative error: on recent held-back measurements of the decision
   *     that let it take over, else of its card's test; as a fraction
   * @param plans ids of the plans, of those that are remembered, that were made with it; the latest
   *     first, up to {@value #PLANS}
   * @param planCount how many such plans there are
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
   * A measured step beside what was predicted.
   *
   * @param workloadId the workload
   * @param planId the plan that ran
   * @param modelId the model that predicted
   * @param measuredAt when
   * @param predictedMs predicted cost of the step
   * @param measuredMs what it cost
   */
  public record ResidualPoint(
      String workloadId,
      String planId,
      String modelId,
      Instant measuredAt,
      double predictedMs,
      double measuredMs) {}
}
