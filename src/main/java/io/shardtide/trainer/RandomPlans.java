package io.shardtide.trainer;

import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Random tables and shardings to measure. Rows, pooling factors and loads of devices cover the
 * range that fits a small machine, since a model is accurate only within its training range.
 */
public final class RandomPlans {
  /** The widths of NeuroShard's samples. */
  private static final int[] WIDTHS = {128, 64, 32, 16, 8, 4};

  private static final int MAX_TABLES_PER_DEVICE = 10;

  private final Random random;
  private final List<TableSpec> tables;

  /**
   * @param tables number of tables to draw from, at least 1
   * @param seed seed of tables and plans
   */
  public RandomPlans(int tables, long seed) {
    random = new Random(seed);
    List<TableSpec> pool = new ArrayList<>();
    for (int t = 0; t < tables; t++) {
      pool.add(
          new TableSpec(
              Integer.toString(t),
              (long) logUniform(100, 200_000),
              WIDTHS[0],
              Math.round(100 * logUniform(0.5, 40)) / 100.0,
              reuse(0.2 + 0.65 * random.nextDouble()),
              4));
    }
    this.tables = List.copyOf(pool);
  }

  /** Returns all tables at the largest width, each named by its index. */
  public List<TableSpec> tables() {
    return tables;
  }

  /** Returns the next random sharding: whole tables, named by their indices. */
  public Measurements.ShardedWorkload next(int devices) {
    List<Integer> order = new ArrayList<>(IntStream.range(0, tables.size()).boxed().toList());
    Collections.shuffle(order, random);
    int count = Math.min(tables.size(), devices * (1 + random.nextInt(MAX_TABLES_PER_DEVICE)));
    double skew = random.nextDouble();
    List<TableSpec> chosen = new ArrayList<>();
    List<Shard> shards = new ArrayList<>();
    for (int t : order.subList(0, count)) {
      TableSpec table = tables.get(t).withColumns(WIDTHS[random.nextInt(WIDTHS.length)]);
      // Between a uniform distribution over devices and one that prefers the first.
      int device =
          Math.min(devices - 1, (int) (devices * StrictMath.pow(random.nextDouble(), 1 + skew)));
      chosen.add(table);
      shards.add(Shard.ofColumns(table, 0, table.columns(), device));
    }
    return new Measurements.ShardedWorkload(devices, chosen, shards);
  }

  private double logUniform(double min, double max) {
    return min * StrictMath.pow(max / min, random.nextDouble());
  }

  /** Returns shares that decrease by a factor from each interval to the next, to three digits. */
  private static ReuseHistogram reuse(double factor) {
    double[] shares = new double[ReuseHistogram.SIZE];
    double sum = 0;
    for (int k = 0; k < shares.length; k++) {
      shares[k] = StrictMath.pow(factor, k);
      sum += shares[k];
    }
    List<Double> rounded = new ArrayList<>();
    double remainder = 1;
    for (int k = shares.length - 1; k > 0; k--) {
      double share = Math.round(1_000 * shares[k] / sum) / 1_000.0;
      rounded.add(0, share);
      remainder -= share;
    }
    rounded.add(0, Math.round(1_000 * remainder) / 1_000.0);
    return new ReuseHistogram(rounded);
  }
}
