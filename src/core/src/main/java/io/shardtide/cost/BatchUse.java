package io.shardtide.cost;

import io.shardtide.option.RowUse;
import io.shardtide.plan.UseKnowledge;

/**
 * What a step looks up in the rows of a shard. Computed once for a table, and shared by its shards
 * of any number of columns.
 */
public final class BatchUse {
  private final RowUse use;
  private final double tableLookups;
  private final double rowShare;

  /** Distinct rows of each group of the whole table. */
  private final double[] touched;

  private final double distinctRows;
  private final double log2Lookups;
  private final double log2DistinctRows;
  private final Statistics statistics;

  /**
   * How often the touched rows are used, as log2.
   *
   * @param rowMean mean over rows
   * @param rowSpread standard deviation over rows
   * @param lookupMean mean over lookups
   * @param lookupSpread standard deviation over lookups
   * @param once share of the touched rows that are used once
   */
  record Statistics(
      double rowMean, double rowSpread, double lookupMean, double lookupSpread, double once) {}

  private BatchUse(
      RowUse use, double tableLookups, double rowShare, double[] touched, Statistics statistics) {
    this.use = use;
    this.tableLookups = tableLookups;
    this.rowShare = rowShare;
    this.touched = touched;
    this.statistics = statistics;
    double sum = 0;
    for (double rows : touched) {
      sum += rows;
    }
    distinctRows = sum * rowShare;
    log2Lookups = ShardFeatures.log2(1 + lookups());
    log2DistinctRows = ShardFeatures.log2(1 + distinctRows);
  }

  /**
   * Returns what a step looks up in all rows of a table.
   *
   * @param use the use of the table's rows
   * @param lookups lookups of the samples that the device works on, at least 0
   */
  static BatchUse of(RowUse use, double lookups) {
    double[] touched = new double[use.size()];
    double sum = 0;
    double rowMean = 0;
    double rowSquares = 0;
    double lookupMean = 0;
    double lookupSquares = 0;
    double once = 0;
    for (int g = 0; g < touched.length; g++) {
      double uses = lookups * use.share(g);
      double probability = -StrictMath.expm1(-uses);
      touched[g] = use.rows(g) * probability;
      double log = probability > 0 ? Math.max(0, ShardFeatures.log2(uses / probability)) : 0;
      double ofGroup = use.rows(g) * uses;
      sum += touched[g];
      rowMean += touched[g] * log;
      rowSquares += touched[g] * log * log;
      lookupMean += ofGroup * log;
      lookupSquares += ofGroup * log * log;
      once += ofGroup * (1 - probability);
    }
    Statistics statistics =
        sum > 0
            ? new Statistics(
                rowMean / sum,
                deviation(rowSquares / sum, rowMean / sum),
                lookupMean / lookups,
                deviation(lookupSquares / lookups, lookupMean / lookups),
                once / sum)
            : new Statistics(0, 0, 0, 0, 1);
    return new BatchUse(use, lookups, 1, touched, statistics);
  }

  private static double deviation(double meanSquare, double mean) {
    return Math.sqrt(Math.max(0, meanSquare - mean * mean));
  }

  /**
   * Returns what the step looks up in a share of the rows. Ids are taken to be hashed: each share
   * of the rows gets its share of the lookups.
   *
   * @param share share of the table's rows, above 0 and at most 1
   */
  BatchUse ofRows(double share) {
    return share == 1 ? this : new BatchUse(use, tableLookups, share, touched, statistics);
  }

  /** Returns what is known of the use of rows. */
  UseKnowledge knowledge() {
    return use.knowledge();
  }

  /** Returns the number of lookups in all rows of the table. */
  double tableLookups() {
    return tableLookups;
  }

  /** Returns the share of the table's rows, above 0 and at most 1. */
  double rowShare() {
    return rowShare;
  }

  /** Returns the number of lookups. */
  public double lookups() {
    return tableLookups * rowShare;
  }

  /** Returns how many different rows are touched. */
  public double distinctRows() {
    return distinctRows;
  }

  /** Returns the logarithm of one more than the lookups. */
  double log2Lookups() {
    return log2Lookups;
  }

  /** Returns the logarithm of one more than the touched rows. */
  double log2DistinctRows() {
    return log2DistinctRows;
  }

  /** Returns the share of the lookups that fall on so many of the most used rows. */
  double lookupShare(double mostUsedRows) {
    return use.lookupShare(mostUsedRows / rowShare);
  }

  /** Returns how many different rows are touched beside so many of the most used ones. */
  double distinctBeside(double mostUsedRows) {
    double left = mostUsedRows / rowShare;
    double sum = 0;
    for (int g = 0; g < touched.length; g++) {
      double rows = use.rows(g);
      if (left < rows) {
        sum += touched[g] * (1 - Math.max(0, left) / rows);
      }
      left -= rows;
    }
    return sum * rowShare;
  }

  /** Returns how often the touched rows are used. */
  Statistics statistics() {
    return statistics;
  }
}
