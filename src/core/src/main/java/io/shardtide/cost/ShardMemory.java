package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.TableSpec;
import java.util.OptionalDouble;

/**
 * The memory of a shard: weights and optimizer state, of a cached shard the share of them that
 * device memory holds, with a named optimizer as {@link TableSpec#bytes(long, int, OptionalDouble)}
 * says; and where {@link ClusterSpec#countsStepMemory} asks for it, what a step needs beside them.
 *
 * <p>If the cluster names its {@link ClusterSpec#pipeline}, this is what a training run allocates:
 * {@link StepMemory}, and of cached shards caches and state as FBGEMM places them. If not, it is
 * TorchRec's storage estimator without a pipeline ({@code calculate_shard_storages}): 64-bit ids of
 * the lookups, outputs and their gradients in single precision, and the dense gradient of a copy.
 * The buffers of all shards are taken to live at the same time.
 *
 * @param rows rows of the shard
 * @param columns columns of the shard
 * @param outputs rows that the device pools in a step
 * @param lookups lookups of a step
 * @param replicated whether each device has a copy
 * @param cacheShare share of its rows that device memory holds; empty if it holds all
 */
record ShardMemory(
    long rows,
    int columns,
    double outputs,
    double lookups,
    boolean replicated,
    OptionalDouble cacheShare) {

  /** Returns the bytes of device memory that the table's shard needs, rounded up. */
  long bytes(TableSpec table, ClusterSpec cluster) {
    if (cluster.pipeline().isPresent()) {
      double step = StepMemory.ofShard(this, table, cluster.pipeline().get(), cluster);
      double cache =
          cacheShare.isPresent() ? StepMemory.ofCache(rows, cacheShare.getAsDouble()) : 0;
      return heldBytes(table) + (long) Math.ceil(step + cache);
    }
    long weights = table.bytes(rows, columns, cacheShare);
    if (!cluster.countsStepMemory()) {
      return weights;
    }
    double buffers =
        lookups * StepMemory.ID_BYTES + 2 * outputs * columns * StepMemory.OUTPUT_BYTES;
    double gradient = replicated ? (double) rows * columns * StepMemory.OUTPUT_BYTES : 0;
    return weights + (long) Math.ceil(buffers + gradient);
  }

  /**
   * Returns the bytes of host memory: all of a cached shard, without an optimizer's state that is
   * to be in device memory; 0 otherwise.
   */
  long hostBytes(TableSpec table, ClusterSpec cluster) {
    if (cacheShare.isEmpty()) {
      return 0;
    }
    return cluster.pipeline().isPresent()
        ? table.bytes(rows, columns) - table.managedStateBytes(rows, columns)
        : table.hostBytes(rows, columns);
  }

  /** Returns the bytes of weights and optimizer state in device memory, where FBGEMM has them. */
  private long heldBytes(TableSpec table) {
    if (cacheShare.isEmpty()) {
      return table.bytes(rows, columns);
    }
    double cached = cacheShare.getAsDouble() * table.bytesBesideState(rows, columns);
    return (long) Math.ceil(cached) + table.managedStateBytes(rows, columns);
  }

  /** Returns the bytes of weights and optimizer state, in either memory. */
  long tableBytes(TableSpec table) {
    return table.bytes(rows, columns);
  }
}
