package io.shardtide.state;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Whether a model takes over, and why.
 *
 * @param hardware the hardware
 * @param trigger what started the retraining
 * @param championId the model that predicted
 * @param challengerId the model that was retrained from it; empty if none was
 * @param published whether the challenger takes over
 * @param recentSamples recent measurements in the training set
 * @param oldSamples older measurements in the training set
 * @param championRecentError the champion's error on held-out recent measurements: mean absolute
 *     relative error of a device's cost, as a fraction
 * @param challengerRecentError the challenger's
 * @param championOldError the champion's on held-out old measurements; empty without any
 * @param challengerOldError the challenger's
 * @param championPlanLoss what the champion's plans lose by its errors, estimated from pairs of
 *     held-out recent costs, as a share of a step
 * @param challengerPlanLoss what the challenger's plans would lose
 * @param reason why, for people
 * @param decidedAt when
 */
@RecordBuilder
public record ModelDecision(
    String hardware,
    Trigger trigger,
    String championId,
    Optional<String> challengerId,
    boolean published,
    int recentSamples,
    int oldSamples,
    OptionalDouble championRecentError,
    OptionalDouble challengerRecentError,
    OptionalDouble championOldError,
    OptionalDouble challengerOldError,
    OptionalDouble championPlanLoss,
    OptionalDouble challengerPlanLoss,
    String reason,
    Instant decidedAt) {

  /** What starts a retraining. */
  public enum Trigger {
    /** A drift alarm, or twice as many measurements since one. */
    DRIFT,
    /** Enough new measurements. */
    SAMPLES,
    /** The schedule. */
    SCHEDULE,
    /** A person chose a model: nothing was retrained. */
    PERSON,
    /**
     * Hardware without a model began with that of other hardware (nothing was retrained), or enough
     * measurements to retrain such a model.
     */
    COLD_START
  }

  /**
   * Returns a decision that no measurement was held out for.
   *
   * @param publishedId the model that was published; empty if the champion was kept
   */
  public static ModelDecision withoutEvaluation(
      String hardware,
      Trigger trigger,
      String championId,
      Optional<String> publishedId,
      String reason,
      Instant decidedAt) {
    return ModelDecisionBuilder.builder()
        .hardware(hardware)
        .trigger(trigger)
        .championId(championId)
        .challengerId(publishedId)
        .published(publishedId.isPresent())
        .recentSamples(0)
        .oldSamples(0)
        .championRecentError(OptionalDouble.empty())
        .challengerRecentError(OptionalDouble.empty())
        .championOldError(OptionalDouble.empty())
        .challengerOldError(OptionalDouble.empty())
        .championPlanLoss(OptionalDouble.empty())
        .challengerPlanLoss(OptionalDouble.empty())
        .reason(reason)
        .decidedAt(decidedAt)
        .build();
  }
}
