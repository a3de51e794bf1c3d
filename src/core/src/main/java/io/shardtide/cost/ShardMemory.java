package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ComputeKernel;
import io.shardtide.domain.TableKernel;
import io.shardtide.domain.TableSpec;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The memory of a shard, after TorchRec's storage estimator ({@code calculate_shard_storages}):
 * weights and optimizer state, of a cached shard the share of them that device memory holds, with a
 * named optimizer as {@link TableSpec#bytes(long, int, OptionalDouble)} says; and where {@link
 * ClusterSpec#countsStepMemory} asks for it, what a step needs beside them: 64-bit ids of the
 * lookups, outputs and their gradients in the table's output type, and the dense gradient of a copy
 * and of a table that is computed by {@link ComputeKernel#DENSE}. The buffers of all shards are
 * taken to live at the same time.
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
  private static final double ID_BYTES = 8;
  private static final double FLOAT_BYTES = 4;

  /** Returns the bytes of device memory that the table's shard needs, rounded up. */
  long bytes(TableSpec table, ClusterSpec cluster) {
    long weights = table.bytes(rows, columns, cacheShare);
    if (!cluster.countsStepMemory()) {
      return weights;
    }
    TableKernel kernel = table.kernel();
    double buffers = lookups * ID_BYTES + 2 * outputs * columns * kernel.outputBytes();
    boolean isDense = replicated || kernel.computeKernel().equals(Optional.of(ComputeKernel.DENSE));
    double gradient = isDense ? (double) rows * columns * FLOAT_BYTES : 0;
    return weights + (long) Math.ceil(buffers + gradient);
  }

  /**
   * Returns the bytes of host memory: all of a cached shard, without an optimizer's state that is
   * to be in device memory; 0 otherwise.
   */
  long hostBytes(TableSpec table) {
    return cacheShare.isPresent() ? table.hostBytes(rows, columns) : 0;
  }

  /** Returns the bytes of weights and optimizer state, in either memory. */
  long tableBytes(TableSpec table) {
    return table.bytes(rows, columns);
  }
}
