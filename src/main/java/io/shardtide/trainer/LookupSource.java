package io.shardtide.trainer;

import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import java.util.SplittableRandom;

/**
 * Draws the lookups of batches in a table, distributed by its pooling factor and reuse histogram.
 *
 * <p>Rows are ranked from hot to cold. Interval k of the histogram holds the rows that a batch uses
 * {@code (2^(k-1), 2^k]} times. The interval gets as many ranks as a batch touches rows of it, and
 * a lookup falls into it with its rows' share of all lookups. Rows used once are drawn from all
 * remaining rows, so that each batch touches different ones. Without a histogram, ranks are drawn
 * log-uniformly: Zipf's law with exponent 1. Ranks are scattered over the rows, so that hot rows
 * are not adjacent in memory.
 *
 * <p>Lookups are a function of seed, table name and step: devices with shards of the same table
 * draw the same lookups.
 */
final class LookupSource {
  private final TableSpec table;
  private final long seed;

  /** Cumulative share of all lookups up to each interval, the hottest first. */
  private final double[] shareEnds;

  /** End, exclusive, of the ranks of each interval, the hottest first. */
  private final long[] rankEnds;

  private final long stride;

  /**
   * @param table the table
   * @param batchSize samples in a batch
   * @param seed seed of all draws
   */
  LookupSource(TableSpec table, int batchSize, long seed) {
    this.table = table;
    this.seed = SplitMixHash.mix(table.name(), seed);
    stride = stride(table.rows());
    shareEnds = new double[ReuseHistogram.SIZE];
    rankEnds = new long[ReuseHistogram.SIZE];
    if (table.reuseHistogram().isKnown()) {
      rank(batchSize);
    }
  }

  private void rank(int batchSize) {
    double meanUses = 0;
    for (int k = 0; k < ReuseHistogram.SIZE; k++) {
      meanUses += table.reuseHistogram().shares().get(k) * uses(k);
    }
    double touched = Math.max(1, table.poolingFactor() * batchSize / meanUses);
    double share = 0;
    double ranks = 0;
    for (int i = 0; i < ReuseHistogram.SIZE; i++) {
      int k = ReuseHistogram.SIZE - 1 - i;
      double rows = table.reuseHistogram().shares().get(k);
      share += rows * uses(k) / meanUses;
      ranks += rows * touched;
      shareEnds[i] = share;
      rankEnds[i] = Math.min(table.rows(), (long) Math.ceil(ranks));
    }
    // Rows used once are drawn from all remaining rows.
    shareEnds[ReuseHistogram.SIZE - 1] = 1;
    rankEnds[ReuseHistogram.SIZE - 1] = table.rows();
  }

  /**
   * Returns the mean uses of rows in an interval: its midpoint, as in the cost model's features.
   */
  private static double uses(int k) {
    return k == 0 ? 1 : 1.5 * (1L << (k - 1));
  }

  /** Returns a number coprime to {@code rows}, near its golden section. */
  private static long stride(long rows) {
    long candidate = Math.max(1, (long) (rows * 0.6180339887498949));
    while (gcd(candidate, rows) != 1) {
      candidate++;
    }
    return candidate;
  }

  private static long gcd(long a, long b) {
    return b == 0 ? a : gcd(b, a % b);
  }

  /** Draws the lookups of a step. */
  void draw(long step, Lookups lookups) {
    SplittableRandom random = new SplittableRandom(SplitMixHash.mix(seed, step));
    int whole = (int) table.poolingFactor();
    double fraction = table.poolingFactor() - whole;
    for (int s = 0; s < lookups.samples(); s++) {
      lookups.setCount(s, whole + (fraction > 0 && random.nextDouble() < fraction ? 1 : 0));
    }
    long[] rows = lookups.rows();
    int count = lookups.end(lookups.samples() - 1);
    boolean known = table.reuseHistogram().isKnown();
    for (int i = 0; i < count; i++) {
      rows[i] = row(known ? histogramRank(random) : zipfRank(random));
    }
  }

  private long histogramRank(SplittableRandom random) {
    double u = random.nextDouble();
    int interval = 0;
    while (u > shareEnds[interval]) {
      interval++;
    }
    long first = interval == 0 ? 0 : rankEnds[interval - 1];
    long size = rankEnds[interval] - first;
    // If the table has too few rows for an interval, it shares the ranks of the hotter ones.
    return size <= 0 ? bounded(random, Math.max(1, first)) : first + bounded(random, size);
  }

  private long zipfRank(SplittableRandom random) {
    double log = random.nextDouble() * StrictMath.log((double) table.rows() + 1);
    return Math.min(table.rows() - 1, (long) StrictMath.exp(log) - 1);
  }

  private static long bounded(SplittableRandom random, long bound) {
    return Math.multiplyHigh(random.nextLong() & Long.MAX_VALUE, bound << 1);
  }

  /** Maps ranks to rows, one to one. */
  private long row(long rank) {
    return rank * stride % table.rows();
  }
}
