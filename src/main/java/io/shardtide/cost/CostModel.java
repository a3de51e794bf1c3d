package io.shardtide.cost;

import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;
import java.util.Arrays;
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

  /** Returns whether the model predicts the collectives of shards of all kinds. */
  public boolean predictsAllKinds() {
    return Arrays.stream(Direction.values())
        .allMatch(
            direction ->
                Arrays.stream(ShardScope.values())
                    .flatMap(scope -> scope.collectives(direction).stream())
                    .allMatch(c -> bundle.collective(c, direction).isPresent()));
  }

  /** Returns a new evaluator for one thread. */
  public CostEvaluator evaluator() {
    return new CostEvaluator(bundle);
  }
}
