package io.shardtide.topology;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;

/**
 * A model that predicts from now on.
 *
 * @param bundle the model, for the log
 * @param predictor runs its table tower; stays the caller's to close
 */
public record ServedModel(ModelBundle bundle, TowerPredictor predictor) {}
