package io.shardtide.learning;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.TowerPredictor;

/**
 * A model that can be asked.
 *
 * @param model the model
 * @param towers runs its table tower
 */
public record CandidateModel(CostModel model, TowerPredictor towers) {}
