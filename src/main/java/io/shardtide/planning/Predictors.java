package io.shardtide.planning;

import io.shardtide.cost.TowerPredictor;
import java.util.Optional;
import java.util.SortedSet;

/** The models that predict now. Which one that is may change from one call to the next. */
public interface Predictors {
  /** Returns the current model for a kind of hardware. */
  Optional<TowerPredictor> of(String hardware);

  /** Returns the kinds of hardware that there are models for. */
  SortedSet<String> hardware();
}
