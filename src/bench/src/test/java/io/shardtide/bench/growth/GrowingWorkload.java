package io.shardtide.bench.growth;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.bench.growth.GrowingTable.Course;
import io.shardtide.bench.growth.GrowthScenario.MemoryLimit;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.growth.Forecast;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.HashedTable;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The tables of a scenario, and their cluster.
 *
 * @param tables all tables, as they are published first
 * @param growing how the hashed ones grow, by name; for longer than the scenario, so that all its
 *     forecasts can be compared with what happened
 * @param cluster 16 devices in two nodes
 */
record GrowingWorkload(
    List<TableSpec> tables, SortedMap<String, GrowingTable> growing, ClusterSpec cluster) {
  private static final int DEVICES = 16;
  private static final int DEVICES_PER_NODE = 8;
  private static final int BATCH_SIZE = 65_536;
  private static final int FIXED_COLUMNS = 64;
  private static final int[] COLUMNS = {32, 64, 96, 128};

  /** What the tables need four weeks after the end is this share of the memory. */
  private static final double FILLED_AT_END = 0.85;

  /** One of so many tables saturates; the first one runs away, the others grow steadily. */
  private static final int SATURATING = 4;

  static GrowingWorkload draw(GrowthScenario scenario, String hardware) {
    List<TableSpec> tables = new ArrayList<>();
    SortedMap<String, GrowingTable> growing = new TreeMap<>();
    List<TableSpec> drawn =
        SyntheticTables.of(
            scenario.fixedTables() + scenario.hashedTables(), FIXED_COLUMNS, scenario.seed());
    for (int t = 0; t < drawn.size(); t++) {
      TableSpec table = drawn.get(t);
      int number = t - scenario.fixedTables();
      if (number >= 0) {
        // By table, so that a longer scenario begins like a shorter one.
        Random random = new Random(scenario.seed() * GrowthScenario.MOST_TABLES + number);
        GrowingTable grows =
            GrowingTable.draw(random, course(number), scenario.days() + Forecast.MOST_DAYS);
        table = hashed(table, grows, random);
        growing.put(table.name(), grows);
      }
      tables.add(table);
    }
    return new GrowingWorkload(
        List.copyOf(tables), growing, cluster(scenario, tables, growing, hardware));
  }

  private static Course course(int number) {
    if (number == 0) {
      return Course.RUNAWAY;
    }
    return number % SATURATING == 0 ? Course.SATURATING : Course.STEADY;
  }

  /** A table of which nothing was measured yet, with room for 10 to 50% more ids. */
  private static TableSpec hashed(TableSpec table, GrowingTable grows, Random random) {
    return TableSpecBuilder.builder(table)
        .rows(slots(grows.ids(0) * (1.1 + 0.4 * random.nextDouble())))
        .columns(COLUMNS[random.nextInt(COLUMNS.length)])
        .optimizer(Optional.of(Optimizer.ROWWISE_ADAGRAD))
        .storage(Optional.of(HashedStorage.PLAIN))
        .build();
  }

  private static ClusterSpec cluster(
      GrowthScenario scenario,
      List<TableSpec> tables,
      SortedMap<String, GrowingTable> growing,
      String hardware) {
    boolean isShort = scenario.memory() == MemoryLimit.SHORT;
    int hour =
        GrowingTable.HOURS
            * (isShort
                ? 2 * scenario.days() / 3
                : scenario.days() + (int) CapacityPolicy.DEFAULTS.coverDays());
    double bytes = 0;
    for (TableSpec table : tables) {
      bytes +=
          growing.containsKey(table.name())
              ? slots((double) growing.get(table.name()).ids(hour)) * bytesPerSlot(table)
              : table.bytes();
    }
    double share = isShort ? GrowthStep.FILLED : FILLED_AT_END;
    return new ClusterSpec(
        DEVICES, (long) Math.ceil(bytes / share / DEVICES), BATCH_SIZE, DEVICES_PER_NODE, hardware);
  }

  /** Returns the slots that have room for so many ids. */
  static long slots(double ids) {
    return (long) Math.ceil(ids / HashedTable.LOAD_FACTOR);
  }

  /** Returns the bytes of a slot: weights, optimizer state, key and score. */
  static double bytesPerSlot(TableSpec table) {
    return (double) table.bytes() / table.rows();
  }

  /** Returns the hashed tables, by name. */
  SortedMap<String, TableSpec> hashed() {
    SortedMap<String, TableSpec> hashed = new TreeMap<>();
    tables.stream()
        .filter(table -> table.storage().isPresent())
        .forEach(table -> hashed.put(table.name(), table));
    return hashed;
  }

  /** Returns the bytes that hashed tables may have together: of all devices, less the others. */
  double bytesOfHashed() {
    return GrowthStep.FILLED * cluster.usableBytes()
        - tables.stream()
            .filter(table -> table.storage().isEmpty())
            .mapToDouble(TableSpec::bytes)
            .sum();
  }
}
