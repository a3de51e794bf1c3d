package io.shardtide.bench;

import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Tables of chance, within what the shipped model was trained on. */
final class SyntheticTables {
  private SyntheticTables() {}

  /**
   * Returns tables of a seed: rows from ten thousand to ten million and 1 to 100 lookups per
   * sample, both log-uniform.
   *
   * @param count how many
   * @param columns columns of each
   */
  static List<TableSpec> of(int count, int columns, long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      tables.add(
          new TableSpec(
              "table_%04d".formatted(t),
              (long) StrictMath.pow(10, 4 + 3 * random.nextDouble()),
              columns,
              StrictMath.pow(10, 2 * random.nextDouble()),
              reuse(0.3 + 0.5 * random.nextDouble()),
              4));
    }
    return tables;
  }

  /** Returns shares that fall by a factor from each interval to the next. */
  private static ReuseHistogram reuse(double factor) {
    Double[] shares = new Double[ReuseHistogram.SIZE];
    double sum = 0;
    for (int k = 0; k < shares.length; k++) {
      shares[k] = StrictMath.pow(factor, k);
      sum += shares[k];
    }
    double whole = sum;
    return new ReuseHistogram(Arrays.stream(shares).map(share -> share / whole).toList());
  }
}
