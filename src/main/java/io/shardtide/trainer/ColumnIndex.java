package io.shardtide.trainer;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Which columns lie where: the columns of all shards in the order of a plan, which is by table and
 * column, so that a column's place among all does not depend on the sharding.
 *
 * @param cluster devices, memory and batch
 * @param tables the tables by name
 * @param shards every column of every table exactly once, in {@link Shard#ORDER}
 */
record ColumnIndex(ClusterSpec cluster, Map<String, TableSpec> tables, List<Shard> shards) {
  /** The trainer needs a sample for each device; a huge batch is a mistake. */
  private static final int MAX_BATCH = 1 << 20;

  /**
   * Checks that this trainer can run it.
   *
   * @throws IllegalArgumentException if it cannot; the message says why
   */
  ColumnIndex {
    tables = Map.copyOf(tables);
    shards = shards.stream().sorted(Shard.ORDER).toList();
    if (cluster.batchSize() < cluster.devices() || cluster.batchSize() > MAX_BATCH) {
      throw new IllegalArgumentException(
          "A batch of %d samples on %d devices; legal here are one for each device to %d"
              .formatted(cluster.batchSize(), cluster.devices(), MAX_BATCH));
    }
    for (Shard shard : shards) {
      TableSpec table = tables.get(shard.table());
      if (shard.kind() != ShardKind.TABLE_WISE && shard.kind() != ShardKind.COLUMN_WISE) {
        throw new IllegalArgumentException(
            "Table %s is sharded %s; this trainer runs TABLE_WISE and COLUMN_WISE"
                .formatted(shard.table(), shard.kind()));
      }
      if (table == null || shard.rows() != table.rows() || shard.device() >= cluster.devices()) {
        throw new IllegalArgumentException(
            "A shard of table %s with %d rows on device %d is not of the workload that the trainer knows"
                .formatted(shard.table(), shard.rows(), shard.device()));
      }
    }
  }

  /** Returns all columns. */
  int columns() {
    return shards.stream().mapToInt(Shard::columns).sum();
  }

  /** Returns the place of each shard's first column among all. */
  int[] places() {
    int[] places = new int[shards.size()];
    int next = 0;
    for (int i = 0; i < places.length; i++) {
      places[i] = next;
      next += shards.get(i).columns();
    }
    return places;
  }

  /** Returns the positions of a device's shards. */
  int[] of(int device) {
    List<Integer> mine = new ArrayList<>();
    for (int i = 0; i < shards.size(); i++) {
      if (shards.get(i).device() == device) {
        mine.add(i);
      }
    }
    return mine.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Returns the first sample of a device's part of the batch; with one device more, the end. */
  int firstSample(int device) {
    return (int) ((long) cluster.batchSize() * device / cluster.devices());
  }
}
