package io.shardtide.learn;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.TrainingPolicy;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;

/**
 * Retrains a model from samples and decides whether to publish the result. Thread-safe.
 *
 * @param job fine-tunes the champion
 * @param towersOf creates the tower predictor of a model
 * @param policy number of samples, and criteria for publishing a challenger
 * @param clock timestamps decisions
 */
public record RetrainingRun(
    RetrainingJob job,
    Function<ModelBundle, TowerPredictor> towersOf,
    TrainingPolicy policy,
    InstantSource clock) {
  /** Fine-tunes a cost model. */
  @FunctionalInterface
  public interface RetrainingJob {
    /**
     * Returns a fine-tuned model.
     *
     * @param champion the model to start from
     * @param towers runs its tower
     * @param recent recent training samples
     * @param old older training samples
     * @param sources sources of the samples
     * @param seed seed of all random draws
     * @throws IllegalArgumentException if there are too few samples
     */
    ModelBundle retrain(
        ModelBundle champion,
        TowerPredictor towers,
        SampleSet recent,
        SampleSet old,
        List<String> sources,
        long seed);
  }

  /**
   * The result of a retraining.
   *
   * @param decision whether the challenger is published, and why
   * @param challenger the challenger, if published
   */
  public record RetrainingResult(ModelDecision decision, Optional<ModelBundle> challenger) {}

  /**
   * Retrains and decides. A failed retraining is a decision to keep the champion.
   *
   * @param trigger what triggered the retraining
   * @param champion the current model
   * @param samples samples in log order
   * @param driftFrom index of the first sample after a drift alarm, if there was one
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
          job.retrain(
              champion,
              towers,
              set.recent().training(),
              set.old().training(),
              set.sources(),
              policy.seed());
      try (TowerPredictor challengerTowers = towersOf.apply(challenger)) {
        ModelDecision decision =
            new CandidateEvaluation(policy)
                .decide(
                    trigger,
                    set,
                    incumbent,
                    new CandidateModel(new CostModel(challenger), challengerTowers),
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
        ModelDecision.withoutEvaluation(
            champion.hardware(),
            trigger,
            champion.modelId(),
            Optional.empty(),
            "Champion kept, retraining on %s samples failed: %s"
                .formatted(
                    samples,
                    error.getMessage() == null
                        ? error.getClass().getSimpleName()
                        : error.getMessage()),
            clock.instant()),
        Optional.empty());
  }
}
