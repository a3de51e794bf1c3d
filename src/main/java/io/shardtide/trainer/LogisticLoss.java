package io.shardtide.trainer;

/**
 * What the embeddings are trained for: a logistic regression on the pooled columns with fixed
 * weights, whose label is a function of the first row that a sample looks up in the first table. It
 * stands for the dense part of a recommendation model: small, the same on every device, and the
 * same bits however the columns are sharded, because they are added in the order of tables and
 * columns.
 */
final class LogisticLoss {
  private final float[] weights;

  /**
   * @param layout the columns
   * @param seed seed of the weights
   */
  LogisticLoss(ColumnIndex layout, long seed) {
    weights = new float[layout.columns()];
    int[] places = layout.places();
    float scale = (float) (1 / Math.sqrt(weights.length));
    for (int i = 0; i < places.length; i++) {
      int first = layout.shards().get(i).columnOffset();
      for (int k = 0; k < layout.shards().get(i).columns(); k++) {
        long bits =
            SplitMixHash.mix(SplitMixHash.mix(layout.shards().get(i).table(), seed), first + k);
        weights[places[i] + k] = bits < 0 ? -scale : scale;
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
   * Turns pooled columns into gradients, in place.
   *
   * @param features a row of all columns for each sample
   * @param first the first sample's number in the batch
   * @param samples number of samples
   * @param labels lookups that labels follow from
   * @return the sum of the samples' log losses
   */
  double gradients(float[] features, int first, int samples, Lookups labels) {
    double loss = 0;
    for (int s = 0; s < samples; s++) {
      int at = s * weights.length;
      double logit = 0;
      for (int k = 0; k < weights.length; k++) {
        logit += (double) weights[k] * features[at + k];
      }
      double probability = 1 / (1 + StrictMath.exp(-logit));
      int label = label(labels, first + s);
      loss -= StrictMath.log(Math.max(1e-12, label == 1 ? probability : 1 - probability));
      float error = (float) (probability - label);
      for (int k = 0; k < weights.length; k++) {
        features[at + k] = error * weights[k];
      }
    }
    return loss;
  }
}
