package io.shardtide.learn;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.TowerPredictor;

/**
 * A model with the predictor that runs its table tower.
 *
 * @param model the model
 * @param towers runs the model's table tower
 */
public record CandidateModel(CostModel model, TowerPredictor towers) {}
