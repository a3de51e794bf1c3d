package io.shardtide.cost;

import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;

/**
 * What the compute net reads of a shard: how many rows there are, how many lookups a batch makes,
 * how wide a row is, and how often rows are used again. NeuroShard feeds rows and pooling factors
 * as they are (Zha et al., section 3.1); both span five decades, so that their logarithms are taken
 * here, and the number of different rows that a batch touches, which any memory hierarchy feels, is
 * given outright instead of being left to the net to divide.
 *
 * <p>A feature that is not known is NaN, which {@link Feature#normalize} turns into the mean; the
 * feature {@code reuse_known} tells the net so.
 */
public final class ShardFeatures {
  /** Names with units, in the order of {@link #of}. */
  public static final List<String> NAMES = names();

  private static final double LN_2 = StrictMath.log(2);

  private ShardFeatures() {}

  /**
   * Returns the features of {@code width} columns of a table.
   *
   * @param table the table
   * @param width columns of the shard
   * @param batchSize samples in a batch, over all devices
   */
  public static double[] of(TableSpec table, int width, int batchSize) {
    double lookups = table.poolingFactor() * batchSize;
    ReuseHistogram reuse = table.reuseHistogram();
    double[] features = new double[NAMES.size()];
    int f = 0;
    features[f++] = log2((double) table.rows());
    features[f++] = log2(1 + lookups);
    features[f++] = log2(width);
    features[f++] = reuse.isKnown() ? 1 : 0;
    features[f++] = reuse.isKnown() ? log2(1 + lookups / meanUses(reuse)) : Double.NaN;
    for (int k = 0; k < ReuseHistogram.SIZE; k++) {
      features[f++] = reuse.isKnown() ? reuse.shares().get(k) : Double.NaN;
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
      double middle = k == 0 ? 1 : 0.75 * (1 << k);
      uses += reuse.shares().get(k) * middle;
    }
    return uses;
  }

  static double log2(double x) {
    return StrictMath.log(x) / LN_2;
  }

  private static List<String> names() {
    List<String> names =
        new ArrayList<>(
            List.of(
                "log2_rows",
                "log2_lookups_per_batch",
                "log2_columns",
                "reuse_known",
                "log2_touched_rows_per_batch"));
    for (int k = 0; k < ReuseHistogram.SIZE; k++) {
      names.add("reuse_share_" + k);
    }
    return List.copyOf(names);
  }
}
