package io.shardtide.bench;

import io.shardtide.samples.WorkloadTask;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/**
 * The workloads that {@link RegretTest} searches: four of the demo, and twelve random ones that are
 * the same on every machine.
 *
 * <p>A random table has
 *
 * <ul>
 *   <li>100 to 100 million rows, log-uniform: small tables are most, a few have most of the bytes;
 *   <li>16, 32, 48, 64, 96 or 128 columns of 4 bytes, and row-wise Adagrad's state;
 *   <li>one lookup a sample in two of five tables, 1 to 100 in the others, log-uniform;
 *   <li>lookups that fall on its rows by Zipf's law, with an exponent of 0.4 to 1.2, and the access
 *       CDF that follows.
 * </ul>
 *
 * <p>Names say tables and devices, then what is special. Each workload has a seed of its own, so
 * that another one changes none: best known steps stay valid.
 */
final class RegretWorkloads {
  private static final String NODES = "simulated-8xh100";
  private static final String H200 = "h200";
  private static final long GIB = 1L << 30;
  private static final int DEVICES_PER_NODE = 8;
  private static final int[] COLUMNS = {16, 32, 48, 64, 96, 128};
  private static final double ONE_LOOKUP = 0.4;

  /** Memory of each device in the demo, for tables. */
  private static final long DEMO_BYTES = 24 * GIB;

  private static final int DEMO_BATCH_SIZE = 65_536;

  /** Memory of an H100; more than any of the random tables need, unless a name says otherwise. */
  private static final long ROOMY_BYTES = 80 * GIB;

  /** So many samples a device, over all devices, are common: 65,536 on 16. */
  private static final int SAMPLES_PER_DEVICE = 4_096;

  /** So many first ranks of Zipf's law are summed; an integral is within 1e-5 of the others. */
  private static final int SUMMED_RANKS = 100;

  private RegretWorkloads() {}

  /** Returns all workloads: small ones, on at most 16 devices, and three on 24 and 64. */
  static List<WorkloadTask> all() {
    List<WorkloadTask> tasks = new ArrayList<>(demo());
    tasks.add(roomy("26x8", tables(26, 1), 8, NODES));
    tasks.add(full("60x8 full", tables(60, 2), 8, NODES, 0.9));
    tasks.add(roomy("100x16", tables(100, 3), 16, NODES));
    tasks.add(full("120x16 full", tables(120, 4), 16, NODES, 0.95));
    tasks.add(cached("80x16 cached", tables(80, 5), 16));
    tasks.add(roomy("40x16 unpooled", unpooled(tables(40, 6)), 16, NODES));
    tasks.add(groups("50x16 groups", tables(50, 7), 16));
    tasks.add(codecs("48x16 codecs", tables(48, 8), 16));
    tasks.add(roomy("35x8 h200", tables(35, 9), 8, H200));
    tasks.add(full("90x16 h200 full", tables(90, 10), 16, H200, 0.9));
    tasks.add(roomy("150x64", tables(150, 11), 64, NODES));
    tasks.add(full("400x64 full", tables(400, 12), 64, NODES, 0.9));
    return tasks;
  }

  /** Returns a small workload, not among {@link #all}. */
  static WorkloadTask warmUp() {
    return roomy("warm-up", tables(16, 13), 8, NODES);
  }

  /** What the demo begins with, on as many devices as it has later; and one change. */
  private static List<WorkloadTask> demo() {
    List<TableSpec> tables = MlperfTables.read();
    List<TableSpec> changed =
        tables.stream()
            .map(table -> table.name().equals("cat_20") ? doubled(table) : table)
            .toList();
    return List.of(
        new WorkloadTask("demo 16", tables, demo(16)),
        new WorkloadTask("demo 15", tables, demo(15)),
        new WorkloadTask("demo 24", tables, demo(24)),
        new WorkloadTask("demo 15 changed", changed, demo(15)));
  }

  private static ClusterSpec demo(int devices) {
    return new ClusterSpec(devices, DEMO_BYTES, DEMO_BATCH_SIZE, DEVICES_PER_NODE, H200);
  }

  /** Twice the rows and lookups, of the table with the most lookups. */
  private static TableSpec doubled(TableSpec table) {
    return TableSpecBuilder.builder(table)
        .rows(2 * table.rows())
        .poolingFactor(2 * table.poolingFactor())
        .build();
  }

  private static ClusterSpecBuilder cluster(int devices, long memoryBytes, String hardware) {
    return ClusterSpecBuilder.builder(
        new ClusterSpec(
            devices, memoryBytes, SAMPLES_PER_DEVICE * devices, DEVICES_PER_NODE, hardware));
  }

  private static WorkloadTask roomy(
      String name, List<TableSpec> tables, int devices, String hardware) {
    return new WorkloadTask(name, tables, cluster(devices, ROOMY_BYTES, hardware).build());
  }

  /** Tables take this share of the memory, before any is cut or copied. */
  private static WorkloadTask full(
      String name, List<TableSpec> tables, int devices, String hardware, double share) {
    long memoryBytes = (long) Math.ceil(bytesPerDevice(tables, devices) / share);
    return new WorkloadTask(name, tables, cluster(devices, memoryBytes, hardware).build());
  }

  /** Half of the tables' bytes fit into device memory, and all into host memory. */
  private static WorkloadTask cached(String name, List<TableSpec> tables, int devices) {
    double bytes = bytesPerDevice(tables, devices);
    return new WorkloadTask(
        name,
        tables,
        cluster(devices, (long) Math.ceil(bytes / 2), NODES)
            .hostMemoryBytesPerDevice((long) Math.ceil(2 * bytes))
            .build());
  }

  /** With so many steps between synchronizations, several groups pay. */
  private static WorkloadTask groups(String name, List<TableSpec> tables, int devices) {
    return new WorkloadTask(
        name,
        tables,
        cluster(devices, ROOMY_BYTES, NODES)
            .replicaGroups(List.of(1, 2, 4))
            .synchronizationSteps(1_000)
            .build());
  }

  /** The codecs of search/RATIONALE.md. */
  private static WorkloadTask codecs(String name, List<TableSpec> tables, int devices) {
    return new WorkloadTask(
        name,
        tables,
        cluster(devices, ROOMY_BYTES, NODES)
            .codecs(
                List.of(
                    new CommCodec("fp16", 2, 800, 1, true, List.of()),
                    new CommCodec("int8", 1.03, 400, 1, false, List.of())))
            .build());
  }

  private static double bytesPerDevice(List<TableSpec> tables, int devices) {
    return tables.stream().mapToDouble(TableSpec::bytes).sum() / devices;
  }

  /** Every third table has an output for each lookup, like a sequence of ids: 2 to 20 of them. */
  private static List<TableSpec> unpooled(List<TableSpec> tables) {
    List<TableSpec> changed = new ArrayList<>(tables);
    for (int t = 0; t < tables.size(); t += 3) {
      TableSpec table = tables.get(t);
      changed.set(
          t,
          TableSpecBuilder.builder(table)
              .pooled(false)
              .poolingFactor(Math.min(20, Math.max(2, table.poolingFactor())))
              .build());
    }
    return changed;
  }

  private static List<TableSpec> tables(int count, long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      long rows = Math.round(StrictMath.pow(10, 2 + 6 * random.nextDouble()));
      int columns = COLUMNS[random.nextInt(COLUMNS.length)];
      double lookups =
          random.nextDouble() < ONE_LOOKUP ? 1 : StrictMath.pow(10, 2 * random.nextDouble());
      double exponent = 0.4 + 0.8 * random.nextDouble();
      tables.add(
          TableSpecBuilder.builder(
                  new TableSpec(
                      "t%03d".formatted(t), rows, columns, lookups, ReuseHistogram.UNKNOWN, 4))
              .accessCdf(zipf(rows, exponent))
              .optimizer(Optional.of(Optimizer.ROWWISE_ADAGRAD))
              .build());
    }
    return tables;
  }

  /** Returns the access CDF of a table whose row of rank r gets lookups like r to the -exponent. */
  private static AccessCdf zipf(long rows, double exponent) {
    double all = zipfSum(rows, exponent);
    List<Double> shares = new ArrayList<>();
    for (long ranks = 1; ranks < rows; ranks *= AccessCdf.FACTOR) {
      shares.add(zipfSum(ranks, exponent) / all);
    }
    shares.add(1.0);
    return new AccessCdf(shares);
  }

  private static double zipfSum(long ranks, double exponent) {
    double sum = 0;
    for (long rank = 1; rank <= Math.min(ranks, SUMMED_RANKS); rank++) {
      sum += StrictMath.pow((double) rank, -exponent);
    }
    if (ranks > SUMMED_RANKS) {
      double power = 1 - exponent;
      double first = SUMMED_RANKS + 0.5;
      double last = ranks + 0.5;
      sum +=
          Math.abs(power) < 1e-6
              ? StrictMath.log(last / first)
              : (StrictMath.pow(last, power) - StrictMath.pow(first, power)) / power;
    }
    return sum;
  }
}
