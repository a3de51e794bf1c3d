package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.step.Planner;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * What a planner is made of.
 *
 * @param settings settings of the planner
 * @param bundles models to publish, except those of hardware whose model was fine-tuned; the latest
 *     one of each kind of hardware predicts
 * @param predictorOf creates the predictor of a model
 * @param trainer retrains models on measured costs; empty for neither feedback nor retraining
 * @param metrics counts events and times them
 * @param health receives failures and waits
 * @param planner makes the plans
 */
@RecordBuilder
public record PlannerParts(
    ServiceSettings settings,
    List<ModelBundle> bundles,
    Function<ModelBundle, TowerPredictor> predictorOf,
    Optional<RetrainingRun.RetrainingJob> trainer,
    PlannerMetrics metrics,
    ServiceHealth health,
    Planner planner) {
  /** Without retraining, metrics and health, and with the planner's own search. */
  public PlannerParts(
      ServiceSettings settings,
      List<ModelBundle> bundles,
      Function<ModelBundle, TowerPredictor> predictorOf) {
    this(
        settings,
        bundles,
        predictorOf,
        Optional.empty(),
        PlannerMetrics.unread(),
        ServiceHealth.unwatched(settings),
        new Planner(InstantSource.system(), System::nanoTime));
  }

  /** Returns a builder with these parts. */
  public PlannerPartsBuilder with() {
    return PlannerPartsBuilder.builder(this);
  }
}
