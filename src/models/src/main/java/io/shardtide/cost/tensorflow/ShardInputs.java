package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.Feature;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.cost.ShardShape;
import java.util.List;
import org.tensorflow.types.TFloat32;

/**
 * The inputs of the tower for shards: normalized features, and sums of the fitted terms.
 *
 * @param count number of shards
 * @param features of each shard, one after another
 * @param baseline forward and backward sum of the terms of each shard, in milliseconds
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
record ShardInputs(int count, float[] features, float[] baseline) {

  /** Returns the inputs of a model for shards. */
  static ShardInputs of(ModelBundle bundle, List<ShardShape> shapes) {
    return of(
        bundle.features(), bundle.forwardCoefficients(), bundle.backwardCoefficients(), shapes);
  }

  /**
   * Returns the inputs of a net for shards.
   *
   * @param features normalization of {@link ShardFeatures}
   * @param forward coefficients of {@link ComputeTerms} in a forward step
   * @param backward the same in a backward step
   */
  static ShardInputs of(
      List<Feature> features,
      List<Double> forward,
      List<Double> backward,
      List<ShardShape> shapes) {
    Normalization normalization = new Normalization(features);
    double[][] coefficients = {array(forward), array(backward)};
    float[] normalized = new float[shapes.size() * features.size()];
    float[] baseline = new float[shapes.size() * 2];
    for (int i = 0; i < shapes.size(); i++) {
      ShardShape shape = shapes.get(i);
      normalization.apply(ShardFeatures.of(shape), normalized, i * features.size());
      double[] terms = ComputeTerms.of(shape);
      for (int direction = 0; direction < 2; direction++) {
        baseline[2 * i + direction] =
            (float) NonNegativeLeastSquares.weightedSum(coefficients[direction], terms);
      }
    }
    return new ShardInputs(shapes.size(), normalized, baseline);
  }

  private static double[] array(List<Double> values) {
    return values.stream().mapToDouble(v -> v).toArray();
  }

  int width() {
    return features.length / count;
  }

  TFloat32 featureTensor() {
    return Tensors.matrix(features, count, width());
  }

  TFloat32 baselineTensor() {
    return Tensors.matrix(baseline, count, 2);
  }
}
