package io.shardtide.cost;

import io.shardtide.domain.ReuseHistogram;
import java.util.List;

/**
 * Inputs of the compute net for a shard: rows, lookups, columns, and how often rows are reused.
 *
 * <p>NeuroShard reads rows, pooling factors and the 17 shares of the reuse histogram (Zha et al.,
 * section 3.1). Rows and lookups span five decades, so that their logarithms are used here; the
 * number of distinct rows, which every memory hierarchy depends on, is an input of its own; and the
 * histogram is described by mean and spread, over rows and over lookups, instead of by its shares.
 * Shares of an unusual histogram are far from all training samples: with shares, predictions of
 * unseen tables were wrong by up to 600%, with means and spreads by 2% to 4% (models/README.md has
 * the comparison).
 *
 * <p>An unknown feature is NaN, which {@link Feature#normalize} turns into the mean; the feature
 * {@code reuse_known} marks that.
 */
public final class ShardFeatures {
  /** Names with units, in the order of {@link #of}. */
  public static final List<String> NAMES =
      List.of(
          "log2_rows",
          "log2_lookups_per_batch",
          "log2_columns",
          "reuse_known",
          "log2_touched_rows_per_batch",
          "log2_uses_mean_over_rows",
          "log2_uses_spread_over_rows",
          "log2_uses_mean_over_lookups",
          "log2_uses_spread_over_lookups",
          "share_of_rows_used_once");

  private static final double LN_2 = StrictMath.log(2);

  private ShardFeatures() {}

  /** Returns the features of a shape. */
  public static double[] of(ShardShape shape) {
    ReuseHistogram reuse = shape.reuse();
    double[] features = new double[NAMES.size()];
    java.util.Arrays.fill(features, Double.NaN);
    features[0] = log2((double) shape.rows());
    features[1] = log2(1 + shape.lookups());
    features[2] = log2(shape.columns());
    features[3] = reuse.isKnown() ? 1 : 0;
    if (reuse.isKnown()) {
      features[4] = log2(1 + shape.lookups() / meanUses(reuse));
      describe(reuse, features, 5);
    }
    return features;
  }

  /**
   * Returns the mean uses of a touched row in a batch: the middle of each interval of the
   * histogram, weighted by its share.
   */
  static double meanUses(ReuseHistogram reuse) {
    double uses = 0;
    for (int k = 0; k < ReuseHistogram.SIZE; k++) {
      uses += reuse.shares().get(k) * middle(k);
    }
    return uses;
  }

  /**
   * Returns the uses of rows in the histogram's interval {@code k}, {@code (2^(k-1), 2^k]}: its
   * middle.
   */
  private static double middle(int k) {
    return k == 0 ? 1 : 0.75 * (1 << k);
  }

  /**
   * Writes mean and spread of k over rows, the same over lookups, and the share of rows that are
   * used once.
   */
  private static void describe(ReuseHistogram reuse, double[] features, int at) {
    double rowMean = 0;
    double rowSquares = 0;
    double lookupMean = 0;
    double lookupSquares = 0;
    double uses = meanUses(reuse);
    for (int k = 0; k < ReuseHistogram.SIZE; k++) {
      double rowShare = reuse.shares().get(k);
      double lookupShare = rowShare * middle(k) / uses;
      rowMean += rowShare * k;
      rowSquares += rowShare * k * k;
      lookupMean += lookupShare * k;
      lookupSquares += lookupShare * k * k;
    }
    features[at] = rowMean;
    features[at + 1] = Math.sqrt(Math.max(0, rowSquares - rowMean * rowMean));
    features[at + 2] = lookupMean;
    features[at + 3] = Math.sqrt(Math.max(0, lookupSquares - lookupMean * lookupMean));
    features[at + 4] = reuse.shares().get(0);
  }

  static double log2(double x) {
    return StrictMath.log(x) / LN_2;
  }
}
