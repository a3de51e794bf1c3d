package io.shardtide.step;

import io.shardtide.cost.TowerPredictor;
import io.shardtide.workload.ClusterSpec;
import java.util.Optional;
import java.util.SortedSet;

/** The models that predict now. Which one that is may change from one call to the next. */
public interface Predictors {
  /** Returns the current model for a kind of hardware. */
  Optional<TowerPredictor> of(String hardware);

  /**
   * Returns the first model for a cluster's hardware, which has none yet. It predicts from now on.
   *
   * @return empty if hardware without a model is to be rejected, or no model is near
   * @throws io.shardtide.workload.RejectedException if too many kinds of hardware have the costs of
   *     others already
   */
  Optional<TowerPredictor> begin(ClusterSpec cluster);

  /** Returns the kinds of hardware that there are models for. */
  SortedSet<String> hardware();
}
