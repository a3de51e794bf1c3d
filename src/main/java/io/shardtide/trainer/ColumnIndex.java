package io.shardtide.trainer;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Positions of the columns of all tables in a sample's feature row. Columns are ordered by table
 * and offset, so that a column's position does not depend on the sharding.
 *
 * @param cluster devices, memory and batch size
 * @param tables tables by name
 * @param shards shards that cover every column of every table exactly once, in {@link Shard#ORDER}
 */
record ColumnIndex(ClusterSpec cluster, Map<String, TableSpec> tables, List<Shard> shards) {
  /** A larger batch is assumed to be a mistake. */
  private static final int MAX_BATCH = 1 << 20;

  /**
   * Checks that this trainer supports the sharding.
   *
   * @throws IllegalArgumentException if it does not; the message is the reason
   */
  ColumnIndex {
    tables = Map.copyOf(tables);
    shards = shards.stream().sorted(Shard.ORDER).toList();
    if (cluster.batchSize() < cluster.devices() || cluster.batchSize() > MAX_BATCH) {
      throw new IllegalArgumentException(
          "batch size must be between the number of devices (%d) and %d, got %d"
              .formatted(cluster.devices(), MAX_BATCH, cluster.batchSize()));
    }
    for (Shard shard : shards) {
      TableSpec table = tables.get(shard.table());
      if (shard.kind() != ShardKind.TABLE_WISE && shard.kind() != ShardKind.COLUMN_WISE) {
        throw new IllegalArgumentException(
            "Table %s is sharded %s; this trainer supports TABLE_WISE and COLUMN_WISE"
                .formatted(shard.table(), shard.kind()));
      }
      if (table == null || shard.rows() != table.rows() || shard.device() >= cluster.devices()) {
        throw new IllegalArgumentException(
            "The shard of table %s with %d rows on device %d does not match the workload"
                .formatted(shard.table(), shard.rows(), shard.device()));
      }
    }
  }

  /** Returns the number of columns of all tables. */
  int columns() {
    return shards.stream().mapToInt(Shard::columns).sum();
  }

  /** Returns the position of each shard's first column. */
  int[] positions() {
    int[] positions = new int[shards.size()];
    int next = 0;
    for (int i = 0; i < positions.length; i++) {
      positions[i] = next;
      next += shards.get(i).columns();
    }
    return positions;
  }

  /** Returns the indices of a device's shards. */
  int[] shardsOf(int device) {
    List<Integer> indices = new ArrayList<>();
    for (int i = 0; i < shards.size(); i++) {
      if (shards.get(i).device() == device) {
        indices.add(i);
      }
    }
    return indices.stream().mapToInt(Integer::intValue).toArray();
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
