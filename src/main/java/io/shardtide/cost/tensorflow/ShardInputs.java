package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.cost.ShardShape;
import java.util.List;
import org.tensorflow.types.TFloat32;

/**
 * The inputs of the tower for shards: normalized features, and sums of the fitted terms.
 *
 * @param features a row for each shard
 * @param baseline forward and backward sum of the terms of each shard, in milliseconds
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
record ShardInputs(float[][] features, float[][] baseline) {

  /** Returns the inputs of a model for shards. */
  static ShardInputs of(ModelBundle bundle, List<ShardShape> shapes) {
    float[][] features = new float[shapes.size()][];
    float[][] baseline = new float[shapes.size()][];
    for (int i = 0; i < features.length; i++) {
      features[i] = Normalization.apply(bundle.features(), ShardFeatures.of(shapes.get(i)));
      baseline[i] =
          baseline(shapes.get(i), bundle.forwardCoefficients(), bundle.backwardCoefficients());
    }
    return new ShardInputs(features, baseline);
  }

  /** Returns the forward and the backward sum of a shard's terms, in milliseconds. */
  static float[] baseline(ShardShape shape, List<Double> forward, List<Double> backward) {
    double[] terms = ComputeTerms.of(shape);
    return new float[] {
      (float) NonNegativeLeastSquares.weightedSum(forward, terms),
      (float) NonNegativeLeastSquares.weightedSum(backward, terms)
    };
  }

  int count() {
    return features.length;
  }

  int width() {
    return features[0].length;
  }

  TFloat32 featureTensor() {
    return Tensors.matrix(flat(features), count(), width());
  }

  TFloat32 baselineTensor() {
    return Tensors.matrix(flat(baseline), count(), 2);
  }

  private static float[] flat(float[][] rows) {
    int width = rows[0].length;
    float[] flat = new float[rows.length * width];
    for (int i = 0; i < rows.length; i++) {
      System.arraycopy(rows[i], 0, flat, i * width, width);
    }
    return flat;
  }
}
