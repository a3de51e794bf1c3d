package io.shardtide.bench.learning;

import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * The size of random workloads.
 *
 * @param tables number of tables
 * @param nodes number of nodes of 8 devices
 * @param memoryShare device memory of all devices, as a share of the tables' bytes; below 1 tables
 *     are cached
 */
record WorkloadShape(int tables, int nodes, double memoryShare) {
  private static final int DEVICES_PER_NODE = 8;
  private static final int BATCH_SIZE = 65_536;
  private static final int[] WIDTHS = {16, 32, 64, 128, 256};

  /** Returns random tables: 3,000 to 300 million rows, half of them with one lookup a sample. */
  List<TableSpec> randomTables(Random random) {
    List<TableSpec> of = new ArrayList<>();
    for (int t = 0; t < tables; t++) {
      of.add(randomTable("table_%03d".formatted(t), random));
    }
    return of;
  }

  private static TableSpec randomTable(String name, Random random) {
    long rows = (long) StrictMath.pow(10, 3.5 + 5 * random.nextDouble());
    double lookups = random.nextBoolean() ? 1 : StrictMath.pow(10, 2 * random.nextDouble());
    return TableSpecBuilder.builder(
            new TableSpec(
                name,
                rows,
                WIDTHS[random.nextInt(WIDTHS.length)],
                lookups,
                ReuseHistogram.UNKNOWN,
                4))
        .accessCdf(zipf(rows, 0.6 + 0.6 * random.nextDouble()))
        .constraints(TableConstraints.NONE.withMayHaveHotRows(false))
        .build();
  }

  /** Returns a table with 1 to 1.5 times the rows and 0.5 to 3 times the lookups. */
  static TableSpec changed(TableSpec table, Random random) {
    long rows = (long) (table.rows() * (1 + random.nextDouble() / 2));
    return TableSpecBuilder.builder(table)
        .rows(rows)
        .poolingFactor(table.poolingFactor() * (0.5 + 2.5 * random.nextDouble()))
        .accessCdf(zipf(rows, 0.6 + 0.6 * random.nextDouble()))
        .build();
  }

  /** Returns the access CDF of Zipf's law with an exponent, sums approximated by integrals. */
  private static AccessCdf zipf(long rows, double exponent) {
    List<Double> shares = new ArrayList<>();
    double all = integral((double) rows, exponent);
    for (long k = 1; k < rows; k *= AccessCdf.FACTOR) {
      shares.add(integral((double) k, exponent) / all);
    }
    shares.add(1.0);
    return new AccessCdf(shares);
  }

  private static double integral(double ranks, double exponent) {
    double power = 1 - exponent;
    return Math.abs(power) < 1e-6
        ? StrictMath.log((ranks + 0.5) / 0.5)
        : (StrictMath.pow(ranks + 0.5, power) - StrictMath.pow(0.5, power)) / power;
  }

  /** Returns the cluster that tables are placed on. */
  ClusterSpec cluster(List<TableSpec> of, String hardware) {
    long bytes = of.stream().mapToLong(TableSpec::bytes).sum();
    int devices = nodes * DEVICES_PER_NODE;
    return ClusterSpecBuilder.builder(
            new ClusterSpec(
                devices,
                (long) (bytes * memoryShare / devices),
                BATCH_SIZE,
                DEVICES_PER_NODE,
                hardware))
        .hostMemoryBytesPerDevice(memoryShare < 1 ? bytes : 0)
        .build();
  }
}
