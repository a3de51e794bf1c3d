package io.shardtide.trainer;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.Shard;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.TableSpec;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The shards of a workload, and the positions of the columns of all tables in a sample's feature
 * row. Columns are ordered by table, so that a column's position does not depend on the sharding.
 *
 * @param cluster devices, memory and batch size
 * @param tables tables by name
 * @param shards shards of all tables in {@link Shard#ORDER}
 */
record ColumnIndex(ClusterSpec cluster, SortedMap<String, TableSpec> tables, List<Shard> shards) {
  /** A larger batch is assumed to be a mistake. */
  private static final int MAX_BATCH = 1 << 20;

  /**
   * Checks that this trainer supports the sharding.
   *
   * @throws IllegalArgumentException if it does not; the message is the reason
   */
  static ColumnIndex of(ClusterSpec cluster, Map<String, TableSpec> tables, List<Shard> shards) {
    if (cluster.batchSize() < cluster.devices() || cluster.batchSize() > MAX_BATCH) {
      throw new IllegalArgumentException(
          "batch size must be between the number of devices (%d) and %d, got %d"
              .formatted(cluster.devices(), MAX_BATCH, cluster.batchSize()));
    }
    Map<String, List<Shard>> byTable = shards.stream().collect(Collectors.groupingBy(Shard::table));
    for (String name : byTable.keySet()) {
      if (!tables.containsKey(name)) {
        throw new IllegalArgumentException(
            "shards must be of the workload's tables, got table " + name);
      }
    }
    tables.forEach((name, table) -> check(table, byTable.getOrDefault(name, List.of()), cluster));
    return new ColumnIndex(
        cluster,
        Collections.unmodifiableSortedMap(new TreeMap<>(tables)),
        shards.stream().sorted(Shard.ORDER).toList());
  }

  private static void check(TableSpec table, List<Shard> shards, ClusterSpec cluster) {
    Sharding sharding = Sharding.of(table, shards, cluster);
    String unsupported =
        !table.pooled()
            ? "an unpooled table"
            : sharding instanceof Sharding.ByUse
                ? "a table with hot rows"
                : shards.stream().anyMatch(shard -> shard.cacheShare().isPresent())
                    ? "a cached table"
                    : "";
    if (!unsupported.isEmpty()) {
      throw new IllegalArgumentException(
          "this trainer pools tables in memory, without caches, got %s, %s"
              .formatted(unsupported, table.name()));
    }
  }

  /** Returns the shards and the number of devices. */
  PlanShards placed() {
    return new PlanShards(shards, cluster.devices());
  }

  /** Returns the shards that a device holds. */
  List<Shard> shardsOf(int device) {
    return shards.stream().filter(shard -> shard.isCopied() || shard.device() == device).toList();
  }

  /** Returns the number of columns of all tables. */
  int columns() {
    return tables.values().stream().mapToInt(TableSpec::columns).sum();
  }

  /** Returns the position of each table's first column. */
  Map<String, Integer> positions() {
    Map<String, Integer> positions = new HashMap<>();
    int next = 0;
    for (TableSpec table : tables.values()) {
      positions.put(table.name(), next);
      next += table.columns();
    }
    return positions;
  }

  /**
   * Returns the first sample of a device's part of the batch.
   *
   * @param device a device, or the number of devices for the end of the batch
   */
  int firstSample(int device) {
    return (int) ((long) cluster.batchSize() * device / cluster.devices());
  }
}
