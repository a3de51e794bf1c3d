package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Predictors of the recorded models; each is opened when it is first needed. */
final class ModelPredictors implements AutoCloseable {
  private final Map<String, ModelBundle> models;
  private final Function<ModelBundle, TowerPredictor> predictorOf;
  private final Map<String, TowerPredictor> open = new HashMap<>();

  ModelPredictors(
      Map<String, ModelBundle> models, Function<ModelBundle, TowerPredictor> predictorOf) {
    this.models = models;
    this.predictorOf = predictorOf;
  }

  /** Returns the predictor of a model; empty if the model is missing. */
  Optional<TowerPredictor> of(String modelId) {
    return Optional.ofNullable(models.get(modelId))
        .map(bundle -> open.computeIfAbsent(modelId, id -> predictorOf.apply(bundle)));
  }

  @Override
  public void close() {
    open.values().forEach(TowerPredictor::close);
  }
}
