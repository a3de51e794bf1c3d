package io.shardtide.cost;

import io.shardtide.plan.UseKnowledge;
import io.shardtide.workload.Optimizer;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Inputs of the compute net for a shard: sizes, lookups, how often rows are reused, what of them
 * fits a cache, and how well a row fits sectors and lanes.
 *
 * <p>NeuroShard reads rows, pooling factors and the 17 shares of the reuse histogram (Zha et al.,
 * section 3.1). Sizes span ten decades, so that their logarithms are used here; the number of
 * distinct rows, which every memory hierarchy depends on, is an input of its own; and the use of
 * rows is described by mean and spread, over rows and over lookups. Shares of an unusual histogram
 * are far from all training samples: with shares, predictions of unseen tables were wrong by up to
 * 600%, with means and spreads by 2% to 4%.
 *
 * <p>How much is known of the use of rows are two inputs: {@code cdf_known} and {@code use_known}.
 * Each optimizer but row-wise Adagrad is an input too; of one that no sample has, its value is that
 * of the samples ({@link Feature#normalize}), and the terms alone tell what it costs.
 */
public final class ShardFeatures {
  /** Bytes that a GPU's memory moves at least: a sector (NVIDIA, CUDA C++ Best Practices Guide). */
  private static final int SECTOR_BYTES = 32;

  /** Lanes of a warp: threads that work together. */
  private static final int WARP = 32;

  /**
   * Sizes of caches, in bytes. Caches of real devices lie between them; the net interpolates the
   * shares of lookups that fit.
   */
  private static final long[] CACHES = {1L << 20, 1L << 23, 1L << 25, 1L << 26, 1L << 28};

  /** Names with units, in the order of {@link #of}. */
  public static final List<String> NAMES =
      List.of(
          "log2_rows",
          "log2_outputs",
          "log2_lookups",
          "log2_distinct_rows",
          "log2_columns",
          "log2_bytes_per_element",
          "replicated",
          "cached",
          "log2_missed_rows",
          "log2_lookups_per_distinct_row",
          "log2_distinct_bytes",
          "log2_bytes",
          "share_of_lanes_used_of_32",
          "share_of_lanes_used_of_64",
          "share_of_lanes_used_of_128",
          "share_of_sectors_used",
          "columns_over_128",
          "log2_output_elements_over_lookup_bytes",
          "lookups_in_1_mib",
          "lookups_in_8_mib",
          "lookups_in_32_mib",
          "lookups_in_64_mib",
          "lookups_in_256_mib",
          "cache_share",
          "cache_misses",
          "cdf_known",
          "use_known",
          "log2_uses_mean_over_rows",
          "log2_uses_spread_over_rows",
          "log2_uses_mean_over_lookups",
          "log2_uses_spread_over_lookups",
          "share_of_rows_used_once",
          "is_sgd",
          "is_adagrad",
          "is_adam",
          "is_partial_rowwise_adam",
          "is_lamb",
          "is_unpooled");

  /**
   * Features that follow from the number of columns alone, beside its logarithm. Samples of a few
   * widths do not tell what they mean: a search would find shards of other widths that only seem to
   * be cheap.
   */
  public static final Set<String> OF_WIDTHS =
      Set.of(
          "share_of_lanes_used_of_32",
          "share_of_lanes_used_of_64",
          "share_of_lanes_used_of_128",
          "share_of_sectors_used",
          "columns_over_128");

  /** Features of models of before features of optimizers; newer ones are after these. */
  static final int FIRST = 32;

  private static final double LN_2 = StrictMath.log(2);

  /** Of numbers of devices: the native logarithm takes longer than all else of a collective. */
  private static final double[] LOG2 =
      IntStream.range(0, 1 << 10).mapToDouble(x -> StrictMath.log(x) / LN_2).toArray();

  private ShardFeatures() {}

  /** Returns the features of a shape. */
  public static double[] of(ShardShape shape) {
    BatchUse use = shape.use();
    BatchUse.Statistics uses = use.statistics();
    int columns = shape.columns();
    double rowBytes = shape.rowBytes();
    double log2Rows = log2((double) shape.rows());
    double log2Outputs = log2(1 + shape.outputs());
    double log2Lookups = use.log2Lookups();
    double log2Distinct = use.log2DistinctRows();
    double log2Columns = log2(columns);
    double log2Weight = log2(shape.weightBytes());
    return new double[] {
      log2Rows,
      log2Outputs,
      log2Lookups,
      log2Distinct,
      log2Columns,
      log2Weight,
      shape.replicated() ? 1 : 0,
      shape.isCached() ? 1 : 0,
      log2(1 + shape.missedRows()),
      log2Lookups - log2Distinct,
      log2Distinct + log2Columns + log2Weight,
      log2Rows + log2Columns + log2Weight,
      columns / (double) roundedUp(columns, WARP),
      columns / (double) roundedUp(columns, 2 * WARP),
      columns / (double) roundedUp(columns, 4 * WARP),
      rowBytes / sectorBytes(rowBytes),
      Math.min(columns, 128) / 128.0,
      log2Outputs - log2Lookups - log2Weight,
      use.lookupShare(CACHES[0] / rowBytes),
      use.lookupShare(CACHES[1] / rowBytes),
      use.lookupShare(CACHES[2] / rowBytes),
      use.lookupShare(CACHES[3] / rowBytes),
      use.lookupShare(CACHES[4] / rowBytes),
      shape.isCached() ? shape.cacheShare().orElseThrow() : 1,
      1 - shape.hitShare(),
      use.knowledge() == UseKnowledge.ACCESS_CDF ? 1 : 0,
      use.knowledge() == UseKnowledge.NONE ? 0 : 1,
      uses.rowMean(),
      uses.rowSpread(),
      uses.lookupMean(),
      uses.lookupSpread(),
      uses.once(),
      is(Optimizer.SGD, shape),
      is(Optimizer.ADAGRAD, shape),
      is(Optimizer.ADAM, shape),
      is(Optimizer.PARTIAL_ROWWISE_ADAM, shape),
      is(Optimizer.LAMB, shape),
      shape.pooled() ? 0 : 1
    };
  }

  private static double is(Optimizer optimizer, ShardShape shape) {
    return shape.optimizer() == optimizer ? 1 : 0;
  }

  /** Returns the bytes that a cache of a size leaves to memory, of all that lookups read. */
  static double bytesBesideCache(ShardShape shape, int cache) {
    double share = shape.use().lookupShare(CACHES[cache] / shape.rowBytes());
    return (1 - share) * shape.lookups() * sectorBytes(shape.rowBytes());
  }

  /** Returns a number of bytes rounded up to whole sectors. */
  static double sectorBytes(double bytes) {
    return Math.ceil(bytes / SECTOR_BYTES) * SECTOR_BYTES;
  }

  /** Returns the lanes that are occupied by a number of columns, in whole warps. */
  static int lanes(int columns) {
    return roundedUp(columns, WARP);
  }

  private static int roundedUp(int columns, int unit) {
    return (columns + unit - 1) / unit * unit;
  }

  static double log2(double x) {
    int whole = (int) x;
    return whole == x && whole >= 0 && whole < LOG2.length ? LOG2[whole] : StrictMath.log(x) / LN_2;
  }
}
