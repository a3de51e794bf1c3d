package io.shardtide.cost;

/** The cost models that plans name, by id. */
@FunctionalInterface
public interface CostModels {
  /**
   * Returns the model with an id.
   *
   * @throws IllegalStateException if there is none
   */
  CostModel get(String modelId);
}
