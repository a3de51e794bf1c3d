package io.shardtide.cost;

import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
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

  /** Returns the length of a device's sum of towers. */
  public int sumSize() {
    return bundle.sumSize();
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
    return evaluator(0);
  }

  /**
   * Returns a new evaluator for one thread whose costs include what is not known of them.
   *
   * @param risk standard deviations of each cost that are added to its prediction
   */
  public CostEvaluator evaluator(double risk) {
    return new CostEvaluator(bundle, risk);
  }

  /**
   * Returns what a tower says of a shape, with the numbers of its launch group, corrected by what
   * was measured: latency components times a factor, and the standard deviation of their sum, in
   * milliseconds.
   *
   * @param shape the shape
   * @param tower outputs of the tower that the head reads
   */
  public float[] corrected(ShardShape shape, float[] tower) {
    float[] corrected = Arrays.copyOf(tower, bundle.towerSize());
    if (bundle.launches().isPresent()) {
      LaunchGroups.write(shape, corrected, bundle.headOutputs());
    }
    if (bundle.correction().isEmpty()) {
      return corrected;
    }
    LogCorrection.Estimate estimate =
        bundle.correction().get().of(phase -> ShapeBasis.of(shape, phase));
    float factor = (float) StrictMath.exp(estimate.mean());
    double ms = 0;
    for (int k = 0; k < bundle.latencyComponents(); k++) {
      corrected[k] = tower[k] * factor;
      ms += corrected[k];
    }
    corrected[corrected.length - 1] = (float) (ms * estimate.deviation());
    return corrected;
  }
}
