package io.shardtide.cost;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.TableSpec;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The memory of a shard: weights, optimizer state and keys of a hashed table, of a cached shard
 * what device memory holds, as {@link TableSpec#bytes(long, int, OptionalDouble, boolean)} says;
 * and where {@link ClusterSpec#countsStepMemory} asks for it, what a step needs beside them.
 *
 * <p>If the cluster names its {@link ClusterSpec#pipeline}, this is what a training run allocates:
 * {@link StepMemory}, and of cached shards caches and state as FBGEMM places them. If not, it is
 * TorchRec's storage estimator without a pipeline ({@code calculate_shard_storages}): 64-bit ids of
 * the lookups and their {@linkplain TableSpec#weightBytesPerLookup weights}, outputs and their
 * gradients in the table's output type, and the dense gradient of a copy and of a table that is
 * computed by {@link ComputeKernel#DENSE}. The buffers of all shards are taken to live at the same
 * time.
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

  /** Returns the bytes of each of {@link Tiers} that the table's shard needs, rounded up. */
  long[] tiers(TableSpec table, ClusterSpec cluster) {
    return new long[] {
      bytes(table, cluster), hostBytes(table, cluster), table.bytes(rows, columns)
    };
  }

  private long bytes(TableSpec table, ClusterSpec cluster) {
    long held = table.bytes(rows, columns, cacheShare, cluster.pipeline().isPresent());
    if (cluster.pipeline().isPresent()) {
      double step = StepMemory.ofShard(this, table, cluster.pipeline().get(), cluster);
      double cache =
          cacheShare.isPresent() ? StepMemory.ofCache(rows, cacheShare.getAsDouble()) : 0;
      return held + (long) Math.ceil(step + cache);
    }
    if (!cluster.countsStepMemory()) {
      return held;
    }
    double buffers =
        lookups * StepMemory.idBytes(table) + 2 * outputs * columns * table.kernel().outputBytes();
    double gradient =
        hasDenseGradient(table) ? (double) rows * columns * StepMemory.GRADIENT_BYTES : 0;
    return held + (long) Math.ceil(buffers + gradient);
  }

  /**
   * Returns the bytes of host memory: all of a cached shard, without keys and an optimizer's state
   * that are to be in device memory; 0 otherwise.
   */
  private long hostBytes(TableSpec table, ClusterSpec cluster) {
    return cacheShare.isEmpty()
        ? 0
        : table.hostBytes(rows, columns, cluster.pipeline().isPresent());
  }

  /** Returns whether a step makes a gradient of each of its weights. */
  boolean hasDenseGradient(TableSpec table) {
    return replicated || table.kernel().computeKernel().equals(Optional.of(ComputeKernel.DENSE));
  }
}
