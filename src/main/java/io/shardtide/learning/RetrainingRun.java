package io.shardtide.learning;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.ModelDecisionBuilder;
import io.shardtide.domain.TrainingPolicy;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.function.Function;

/** A training from samples to a decision. Safe to run on any thread. */
public final class RetrainingRun {
  /** Trains a model on. */
  @FunctionalInterface
  public interface RetrainingJob {
    /**
     * Returns a model that was trained on.
     *
     * @param champion the model that it begins as
     * @param recent what was measured last, to learn from
     * @param old what was measured before, to learn from
     * @param sources who measured
     * @param seed seed of all chance
     * @throws IllegalArgumentException if there is too little to learn from
     */
    ModelBundle retrain(
        ModelBundle champion, SampleSet recent, SampleSet old, List<String> sources, long seed);
  }

  /**
   * What a training came to.
   *
   * @param decision whether the challenger takes over, and why
   * @param challenger the model, if it takes over
   */
  public record RetrainingResult(ModelDecision decision, Optional<ModelBundle> challenger) {}

  private final RetrainingJob trainer;
  private final Function<ModelBundle, TowerPredictor> towersOf;
  private final TrainingPolicy policy;
  private final InstantSource clock;

  /**
   * @param trainer trains
   * @param towersOf runs a model's table tower
   * @param policy how much is learned from, and what lets a challenger take over
   * @param clock dates decisions
   */
  public RetrainingRun(
      RetrainingJob trainer,
      Function<ModelBundle, TowerPredictor> towersOf,
      TrainingPolicy policy,
      InstantSource clock) {
    this.trainer = trainer;
    this.towersOf = towersOf;
    this.policy = policy;
    this.clock = clock;
  }

  /** Returns the policy. */
  public TrainingPolicy policy() {
    return policy;
  }

  /**
   * Trains and decides. An error of the training is a decision too: the champion stays.
   *
   * @param trigger what began it
   * @param champion the model that predicts
   * @param samples what was measured, in the order of the log
   * @param driftFrom position of the first sample after an alarm, if there was one
   */
  public RetrainingResult run(
      ModelDecision.Trigger trigger,
      ModelBundle champion,
      List<CostSample> samples,
      OptionalInt driftFrom) {
    try (TowerPredictor towers = towersOf.apply(champion)) {
      CandidateModel incumbent = new CandidateModel(new CostModel(champion), towers);
      TrainingSet set = TrainingSet.of(samples, driftFrom, policy, incumbent);
      ModelBundle challenger =
          trainer.retrain(
              champion, set.recent().learned(), set.old().learned(), set.sources(), policy.seed());
      try (TowerPredictor other = towersOf.apply(challenger)) {
        ModelDecision decision =
            new CandidateEvaluation(policy)
                .decide(
                    trigger,
                    set,
                    incumbent,
                    new CandidateModel(new CostModel(challenger), other),
                    clock.instant());
        return new RetrainingResult(
            decision, decision.published() ? Optional.of(challenger) : Optional.empty());
      }
    } catch (RuntimeException e) {
      return failed(trigger, champion, samples.size(), e);
    }
  }

  private RetrainingResult failed(
      ModelDecision.Trigger trigger, ModelBundle champion, int samples, RuntimeException error) {
    return new RetrainingResult(
        ModelDecisionBuilder.builder()
            .hardware(champion.hardware())
            .trigger(trigger)
            .championId(champion.modelId())
            .challengerId(Optional.empty())
            .published(false)
            .recentSamples(0)
            .oldSamples(0)
            .championRecentError(OptionalDouble.empty())
            .challengerRecentError(OptionalDouble.empty())
            .championOldError(OptionalDouble.empty())
            .challengerOldError(OptionalDouble.empty())
            .reason(
                "The champion stays, because no challenger could be trained on %d samples: %s"
                    .formatted(
                        samples,
                        error.getMessage() == null
                            ? error.getClass().getSimpleName()
                            : error.getMessage()))
            .decidedAt(clock.instant())
            .build(),
        Optional.empty());
  }
}
