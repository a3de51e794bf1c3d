package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.Feature;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.cost.ShardShape;
import java.util.List;

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
    float[] normalized = new float[shapes.size() * features.size()];
    float[] baseline = new float[shapes.size() * 2];
    for (int i = 0; i < shapes.size(); i++) {
      ShardShape shape = shapes.get(i);
      normalization.apply(ShardFeatures.of(shape), normalized, i * features.size());
      double[] terms = ComputeTerms.of(shape);
      baseline[2 * i] = (float) NonNegativeLeastSquares.weightedSum(forward, terms);
      baseline[2 * i + 1] = (float) NonNegativeLeastSquares.weightedSum(backward, terms);
    }
    return new ShardInputs(shapes.size(), normalized, baseline);
  }

  int width() {
    return features.length / count;
  }
}
