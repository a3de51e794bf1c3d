package io.shardtide.cost;

import java.util.Objects;

/**
 * A cost model: immutable, shared by threads. Each thread predicts with its own {@link
 * CostEvaluator}.
 */
public final class CostModel {
  private final ModelBundle bundle;
  private final TrainedRanges limits;

  /** Creates the model of a bundle. */
  public CostModel(ModelBundle bundle) {
    this.bundle = Objects.requireNonNull(bundle, "bundle");
    limits = new TrainedRanges(bundle.ranges());
  }

  /** Returns the model's id. */
  public String id() {
    return bundle.modelId();
  }

  /** Returns the hardware that the model is for. */
  public String hardware() {
    return bundle.hardware();
  }

  /** Returns the data. */
  public ModelBundle bundle() {
    return bundle;
  }

  /** Returns the number of tower outputs. */
  public int towerSize() {
    return bundle.towerSize();
  }

  /** Returns the model's training ranges. */
  public TrainedRanges limits() {
    return limits;
  }

  /** Returns a new evaluator for one thread. */
  public CostEvaluator evaluator() {
    return new CostEvaluator(bundle);
  }
}
