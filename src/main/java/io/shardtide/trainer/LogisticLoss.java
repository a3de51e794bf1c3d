package io.shardtide.trainer;

import io.shardtide.domain.TableSpec;
import java.util.Map;

/**
 * The training objective, a stand-in for the dense part of a recommendation model: a logistic
 * regression on the pooled embeddings with fixed weights. The label is a function of the first row
 * that a sample looks up in the first table. Columns are added in the order of tables and offsets,
 * so that the result does not depend on the sharding.
 */
final class LogisticLoss {
  private final float[] weights;

  /**
   * @param index positions of the columns
   * @param seed seed of the weights
   */
  LogisticLoss(ColumnIndex index, long seed) {
    weights = new float[index.columns()];
    Map<String, Integer> positions = index.positions();
    float scale = (float) (1 / Math.sqrt(weights.length));
    for (TableSpec table : index.tables().values()) {
      for (int k = 0; k < table.columns(); k++) {
        long bits = SplitMixHash.mix(SplitMixHash.mix(table.name(), seed), k);
        weights[positions.get(table.name()) + k] = bits < 0 ? -scale : scale;
      }
    }
  }

  /** Returns the label of a sample, 0 or 1. */
  static int label(Lookups firstTable, int sample) {
    int begin = firstTable.begin(sample);
    return begin == firstTable.end(sample)
        ? 0
        : (int) (SplitMixHash.mix(firstTable.row(begin)) & 1);
  }

  /**
   * Replaces pooled embeddings by their gradients.
   *
   * @param features a row of all columns for each sample
   * @param first index of the first sample in the batch
   * @param samples number of samples
   * @param labels lookups in the first table, which determine the labels
   * @return the sum of the samples' log losses
   */
  double gradients(float[] features, int first, int samples, Lookups labels) {
    double loss = 0;
    for (int s = 0; s < samples; s++) {
      int row = s * weights.length;
      double logit = 0;
      for (int k = 0; k < weights.length; k++) {
        logit += (double) weights[k] * features[row + k];
      }
      double probability = 1 / (1 + StrictMath.exp(-logit));
      int label = label(labels, first + s);
      loss -= StrictMath.log(Math.max(1e-12, label == 1 ? probability : 1 - probability));
      float error = (float) (probability - label);
      for (int k = 0; k < weights.length; k++) {
        features[row + k] = error * weights[k];
      }
    }
    return loss;
  }
}
