package io.shardtide.trainer;

import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Measures the reuse histogram of a table from a batch, as a feature pipeline does. */
public final class MeasuredReuse {
  private MeasuredReuse() {}

  /**
   * Draws a batch of a table by Zipf's law and returns the table with the batch's reuse histogram,
   * rounded to three digits. A table without lookups gets an unknown histogram.
   *
   * @param table a table; its reuse histogram is ignored
   * @param batchSize samples in a batch
   * @param seed seed of the draw
   */
  public static TableSpec of(TableSpec table, int batchSize, long seed) {
    TableSpec unknown = table.withReuse(ReuseHistogram.UNKNOWN);
    Lookups lookups = new Lookups(batchSize);
    new LookupSource(unknown, batchSize, seed).draw(0, lookups);
    Map<Long, Integer> uses = new HashMap<>();
    for (int i = 0; i < lookups.end(batchSize - 1); i++) {
      uses.merge(lookups.row(i), 1, Integer::sum);
    }
    if (uses.isEmpty()) {
      return unknown;
    }
    double[] rows = new double[ReuseHistogram.SIZE];
    for (int count : uses.values()) {
      // The interval (2^(k-1), 2^k] of a count: the bits of count - 1.
      int interval = Integer.SIZE - Integer.numberOfLeadingZeros(count - 1);
      rows[Math.min(ReuseHistogram.SIZE - 1, interval)]++;
    }
    List<Double> shares = new ArrayList<>();
    for (double count : rows) {
      shares.add(Math.round(1_000 * count / uses.size()) / 1_000.0);
    }
    return table.withReuse(new ReuseHistogram(shares));
  }
}
