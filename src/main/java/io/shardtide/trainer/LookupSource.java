package io.shardtide.trainer;

import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import java.util.SplittableRandom;

/**
 * Draws what batches look up in a table: as many lookups a sample as its pooling factor says on
 * average, and rows that are used again as its reuse histogram says.
 *
 * <p>Rows are ranked from hot to cold. The histogram's interval k holds the rows that a batch uses
 * {@code (2^(k-1), 2^k]} times; it gets as many ranks as the batch touches of it, and a lookup
 * falls into it with the share of all lookups that its rows make. Rows that are used once are drawn
 * from all that is left, so that another batch touches others. Without a histogram, ranks are drawn
 * log-uniformly, which is Zipf's law with exponent 1. Ranks are scattered over the rows, so that
 * hot rows are not neighbours in memory.
 *
 * <p>What is drawn is a function of the seed, the table's name and the step: devices that hold
 * columns of one table draw the same.
 */
final class LookupSource {
  private final TableSpec table;
  private final long seed;

  /** Upper bounds of the intervals' shares of all lookups, hot first. */
  private final double[] shareEnds;

  /** First rank of each interval; one more at the end. */
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
    // Rows that are used once come from all that is left.
    shareEnds[ReuseHistogram.SIZE - 1] = 1;
    rankEnds[ReuseHistogram.SIZE - 1] = table.rows();
  }

  /** Returns how often rows of an interval are used: its middle, as the cost model's features. */
  private static double uses(int k) {
    return k == 0 ? 1 : 1.5 * (1L << (k - 1));
  }

  /** Returns a number without a common divisor with {@code rows}, near the golden section. */
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
    double rest = table.poolingFactor() - whole;
    for (int s = 0; s < lookups.samples(); s++) {
      lookups.setCount(s, whole + (rest > 0 && random.nextDouble() < rest ? 1 : 0));
    }
    long[] rows = lookups.rows();
    int count = lookups.end(lookups.samples() - 1);
    boolean known = table.reuseHistogram().isKnown();
    for (int i = 0; i < count; i++) {
      rows[i] = row(known ? ranked(random) : zipf(random));
    }
  }

  private long ranked(SplittableRandom random) {
    double u = random.nextDouble();
    int interval = 0;
    while (u > shareEnds[interval]) {
      interval++;
    }
    long first = interval == 0 ? 0 : rankEnds[interval - 1];
    long size = rankEnds[interval] - first;
    // An interval that found no rows left shares those of the one before.
    return size <= 0 ? bounded(random, Math.max(1, first)) : first + bounded(random, size);
  }

  private long zipf(SplittableRandom random) {
    double log = random.nextDouble() * StrictMath.log((double) table.rows() + 1);
    return Math.min(table.rows() - 1, (long) StrictMath.exp(log) - 1);
  }

  private static long bounded(SplittableRandom random, long bound) {
    return Math.multiplyHigh(random.nextLong() & Long.MAX_VALUE, bound << 1);
  }

  /** Scatters ranks over the rows, each rank to a row of its own. */
  private long row(long rank) {
    return rank * stride % table.rows();
  }
}
