package io.shardtide.growth;

import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.HashedStorage;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Which share of a table's lookups finds its id, by the slots that the table has. Linear between
 * the numbers of slots whose share is described.
 *
 * @param shares as {@link HashedStorage#hitShares}; if unknown, all lookups find their id
 * @param ids distinct ids that the shares are of, as {@link HashedStorage#ids}: more than the table
 *     holds if it evicts
 */
public record HitCurve(AccessCdf shares, long ids) {

  /** Returns the numbers of slots whose share is described, ascending; the last one is all ids. */
  LongStream described() {
    int last = shares.shares().size() - 1;
    return IntStream.rangeClosed(0, last)
        .mapToLong(k -> k == last ? Math.max(1, ids) : 1L << (2 * k));
  }

  /** Returns the share of the lookups that find their id in a table with so many slots. */
  double share(long slots) {
    if (!shares.isKnown() || slots >= ids) {
      return 1;
    }
    List<Double> known = shares.shares();
    long[] ends = described().toArray();
    int k = 0;
    while (ends[k] < slots) {
      k++;
    }
    long begin = k == 0 ? 0 : ends[k - 1];
    double before = k == 0 ? 0 : known.get(k - 1);
    return before + (double) (slots - begin) / (ends[k] - begin) * (known.get(k) - before);
  }
}
