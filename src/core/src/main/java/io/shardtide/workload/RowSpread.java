package io.shardtide.workload;

import java.util.List;

/**
 * How the lookups of a table spread over blocks of its rows, in one order of rows.
 *
 * @param order how rows are cut into blocks
 * @param shares the share of the lookups that goes to each of so many blocks; 1 to {@value
 *     #MAX_BLOCKS} numbers of at least 0 that sum to 1
 */
public record RowSpread(RowOrder order, List<Double> shares) {
  /** More than any table is split over; a list of it is 32 KiB. */
  public static final int MAX_BLOCKS = 4096;

  /** Tolerance of the sum: each share is written with a few digits. */
  private static final double TOLERANCE = 1e-4;

  /**
   * @throws RejectedException if there are no or too many shares, one is below 0, or their sum is
   *     not 1
   */
  public RowSpread {
    shares = List.copyOf(shares);
    Limits limits = Limits.of(RejectionReason.INVALID_ROW_SPREAD, "a row spread", order.label());
    limits.whole("blocks", shares.size(), 1, MAX_BLOCKS);
    double sum = 0;
    for (double share : shares) {
      limits.within("share", share, 0, 1);
      sum += share;
    }
    limits.check(Math.abs(sum - 1) <= TOLERANCE, "sum of the shares", "1", sum);
  }

  /**
   * A block of the rows, and how many lookups it gets.
   *
   * @param order how rows are cut into blocks
   * @param number its number, from 0
   * @param share share of the lookups
   */
  public record Hottest(RowOrder order, int number, double share) {}

  /**
   * Returns the block that gets most lookups if rows are cut into so many, the first of equal ones.
   *
   * <p>Measured blocks are joined where their number is a multiple; contiguous ones are cut where
   * it is not, as if the lookups of each were spread evenly over its rows. Else the rows that make
   * the hottest measured block hotter than the mean are taken to stay together, and all other
   * lookups to spread evenly.
   *
   * @param blocks number of blocks, at least 1
   */
  public Hottest hottest(int blocks) {
    int measured = shares.size();
    Hottest hottest = new Hottest(order, 0, 0);
    if (order != RowOrder.CONTIGUOUS && measured % blocks != 0) {
      for (int b = 0; b < measured; b++) {
        double share = Math.max(0, shares.get(b) - 1.0 / measured) + 1.0 / blocks;
        hottest =
            share > hottest.share ? new Hottest(order, b % blocks, Math.min(1, share)) : hottest;
      }
      return hottest;
    }
    double[] joined = new double[blocks];
    for (int b = 0; b < measured; b++) {
      if (order != RowOrder.CONTIGUOUS) {
        joined[b % blocks] += shares.get(b);
        continue;
      }
      // In units of 1 / (measured * blocks) of the rows.
      long end = (b + 1L) * blocks;
      for (long from = (long) b * blocks; from < end; ) {
        int block = (int) (from / measured);
        long to = Math.min(end, (block + 1L) * measured);
        joined[block] += shares.get(b) * ((to - from) / (double) blocks);
        from = to;
      }
    }
    for (int block = 0; block < blocks; block++) {
      hottest = joined[block] > hottest.share ? new Hottest(order, block, joined[block]) : hottest;
    }
    return hottest;
  }
}
