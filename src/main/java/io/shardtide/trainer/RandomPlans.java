package io.shardtide.trainer;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.Sharding.ColumnPart;
import io.shardtide.domain.Sharding.NodePart;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import java.util.stream.IntStream;

/**
 * Random tables and shardings of all kinds to measure. Rows, pooling factors and loads of devices
 * cover the range that fits a small machine, since a model is accurate only within its training
 * range.
 */
public final class RandomPlans {
  /** The widths of NeuroShard's samples. */
  private static final int[] WIDTHS = {128, 64, 32, 16, 8, 4};

  private static final int MAX_TABLES_PER_DEVICE = 10;

  /** Bytes of all copies in a plan: a small machine holds a dozen plans. */
  static final long MAX_COPIED_BYTES = 32L << 20;

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

  /**
   * Returns the next random sharding of tables that are named by their indices, on nodes of equally
   * many devices, at least two. At least one table is whole, so that each sharding has an
   * all-to-all; several nodes and all kinds of shards are in some.
   *
   * @param devices number of devices, at least 2
   */
  public Measurements.ShardedWorkload next(int devices) {
    List<Integer> order = new ArrayList<>(numbers(tables.size()));
    Collections.shuffle(order, random);
    int count = Math.min(tables.size(), devices * (1 + random.nextInt(MAX_TABLES_PER_DEVICE)));
    double skew = random.nextDouble();
    ClusterSpec cluster = Measurements.cluster(devices, devicesPerNode(devices), devices);
    List<ShardKind> kinds = kinds(cluster);
    long copiedBytes = 0;
    List<TableSpec> chosen = new ArrayList<>();
    List<Shard> shards = new ArrayList<>();
    for (int t : order.subList(0, count)) {
      TableSpec table = tables.get(t).withColumns(WIDTHS[random.nextInt(WIDTHS.length)]);
      ShardKind kind =
          shards.isEmpty() ? ShardKind.TABLE_WISE : kinds.get(random.nextInt(kinds.size()));
      if (kind == ShardKind.DATA_PARALLEL) {
        long bytes = devices * table.bytes();
        kind = copiedBytes + bytes > MAX_COPIED_BYTES ? ShardKind.TABLE_WISE : kind;
        copiedBytes += kind == ShardKind.DATA_PARALLEL ? bytes : 0;
      }
      chosen.add(table);
      shards.addAll(sharding(kind, table, cluster, skew).shards(table, cluster));
    }
    return new Measurements.ShardedWorkload(devices, cluster.devicesPerNode(), chosen, shards);
  }

  /** Returns the devices of a node: all, or a number that divides them. */
  private int devicesPerNode(int devices) {
    int[] numbers =
        IntStream.rangeClosed(2, devices).filter(number -> devices % number == 0).toArray();
    return numbers[random.nextInt(numbers.length)];
  }

  /** Returns the kinds of a plan: few or many, so that each collective has few and many bytes. */
  private List<ShardKind> kinds(ClusterSpec cluster) {
    List<ShardKind> kinds = new ArrayList<>(List.of(ShardKind.TABLE_WISE));
    for (ShardKind kind : ShardKind.values()) {
      boolean needsNodes = kind.scope() == ShardScope.NODE || kind == ShardKind.TABLE_COLUMN_WISE;
      if (kind != ShardKind.TABLE_WISE
          && (cluster.nodes() > 1 || !needsNodes)
          && random.nextBoolean()) {
        kinds.add(kind);
      }
    }
    return kinds;
  }

  private Sharding sharding(ShardKind kind, TableSpec table, ClusterSpec cluster, double skew) {
    return switch (kind) {
      case TABLE_WISE -> wholeTable(cluster, skew);
      case COLUMN_WISE ->
          Sharding.ofColumns(parts(table, numbers(cluster.devices()), ColumnPart::new));
      case TABLE_COLUMN_WISE ->
          new Sharding.TableColumnWise(
              parts(table, cluster.devicesOfNode(node(cluster)), ColumnPart::new));
      case ROW_WISE -> new Sharding.RowWise();
      case TABLE_ROW_WISE -> new Sharding.TableRowWise(node(cluster));
      case GRID_SHARD ->
          new Sharding.GridShard(parts(table, numbers(cluster.nodes()), NodePart::new));
      case DATA_PARALLEL -> new Sharding.DataParallel();
    };
  }

  /** Puts a table between uniformly on any device and with a preference for the first. */
  private Sharding wholeTable(ClusterSpec cluster, double skew) {
    int devices = cluster.devices();
    return new Sharding.TableWise(
        Math.min(devices - 1, (int) (devices * StrictMath.pow(random.nextDouble(), 1 + skew))));
  }

  private int node(ClusterSpec cluster) {
    return random.nextInt(cluster.nodes());
  }

  private static List<Integer> numbers(int count) {
    return IntStream.range(0, count).boxed().toList();
  }

  /** Returns parts of equal width at different places; one if the table cannot be cut. */
  private <T> List<T> parts(
      TableSpec table, List<Integer> places, BiFunction<Integer, Integer, T> part) {
    int[] counts =
        IntStream.rangeClosed(2, places.size())
            .filter(count -> table.columns() % (count * TableSpec.COLUMN_UNIT) == 0)
            .toArray();
    int count = counts.length == 0 ? 1 : counts[random.nextInt(counts.length)];
    List<Integer> order = new ArrayList<>(places);
    Collections.shuffle(order, random);
    return order.stream()
        .limit(count)
        .map(place -> part.apply(table.columns() / count, place))
        .toList();
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
