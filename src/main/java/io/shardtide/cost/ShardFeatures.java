package io.shardtide.cost;

import io.shardtide.domain.ReuseHistogram;
import java.util.List;

/**
 * What the compute net reads of a shard: how many rows there are, how many lookups a batch makes,
 * how wide a row is, and how often rows are used again.
 *
 * <p>NeuroShard feeds rows, pooling factors and the 17 shares of the reuse histogram as they are
 * (Zha et al., section 3.1). Rows and lookups span five decades, so that their logarithms are taken
 * here; the number of different rows that a batch touches, which any memory hierarchy feels, is
 * given outright; and the histogram is described by its mean and its spread, over rows and over
 * lookups, instead of by its shares. A share is far from anything in training as soon as a table's
 * histogram has another shape: with shares, tables never seen were wrong by up to 600%, with means
 * and spreads by 2% to 4% (models/README.md has the comparison).
 *
 * <p>A feature that is not known is NaN, which {@link Feature#normalize} turns into the mean; the
 * feature {@code reuse_known} tells the net so.
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
   * Returns how many times a touched row is used in a batch, on average: the middle of each of the
   * histogram's intervals, weighted by its share.
   */
  static double meanUses(ReuseHistogram reuse) {
    double uses = 0;
    for (int k = 0; k < ReuseHistogram.SIZE; k++) {
      uses += reuse.shares().get(k) * middle(k);
    }
    return uses;
  }

  /**
   * Returns how often the rows of the histogram's interval {@code k}, {@code (2^(k-1), 2^k]}, are
   * used: its middle.
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
