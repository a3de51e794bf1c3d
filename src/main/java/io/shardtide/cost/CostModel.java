package io.shardtide.cost;

import java.util.Objects;

/**
 * A cost model ready to be asked: immutable, shared by threads. Each thread asks through its own
 * {@link CostEvaluator}.
 */
public final class CostModel {
  private final ModelBundle bundle;
  private final TrainedRanges limits;

  /** Takes a checked bundle. */
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

  /** Returns how many numbers the tower gives for a shard. */
  public int towerSize() {
    return bundle.towerSize();
  }

  /** Returns what the model was trained on. */
  public TrainedRanges limits() {
    return limits;
  }

  /** Returns a new evaluator for one thread. */
  public CostEvaluator evaluator() {
    return new CostEvaluator(bundle);
  }
}
