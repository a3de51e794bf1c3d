package io.shardtide.cost;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TrainingPipeline;
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
  /** Where a bag's ids begin: 64-bit, kept for the backward pass. */
  private static final double OFFSET_BYTES = 8;

  /** Gradients of weights are in single precision. */
  private static final double GRADIENT_BYTES = 4;

  /**
   * Gradients of a copy: the one that the backward pass returns, and its place in a bucket of
   * {@code DistributedDataParallel}, which lives as long as the model.
   */
  private static final double COPY_GRADIENTS = 2;

  /**
   * Bytes of the small tensors that FBGEMM keeps beside a table: offsets, sizes, counters. 830 were
   * measured for a kernel with one table, 20 more for each other.
   */
  private static final double SMALL_TENSOR_BYTES = 1_024;

  /** What each row of a cached table has in {@code cache_index_table_map}. */
  private static final double CACHE_ROW_BYTES = 4;

  /**
   * What each row in a cache has beside its weights: {@code lxu_cache_state}, {@code lru_state}.
   */
  private static final double CACHE_SLOT_BYTES = 16;

  /**
   * How often a prefetching pipeline has the ids of a cached shard beside those of its batches:
   * {@code calculate_pipeline_io_cost}, with one pass.
   */
  private static final double PREFETCHED_IDS = 7;

  /** Returns the bytes of each of {@link Tiers} that the table's shard needs, rounded up. */
  long[] tiers(TableSpec table, ClusterSpec cluster) {
    return new long[] {
      bytes(table, cluster), hostBytes(table, cluster), table.bytes(rows, columns)
    };
  }

  private long bytes(TableSpec table, ClusterSpec cluster) {
    long held = table.bytes(rows, columns, cacheShare, cluster.pipeline().isPresent());
    if (cluster.pipeline().isPresent()) {
      double step = stepBytes(table, cluster.pipeline().get(), cluster);
      // _calculate_cache_aux_state_sizes of TorchRec's estimator.
      double cache =
          cacheShare.isPresent()
              ? rows * (CACHE_ROW_BYTES + cacheShare.getAsDouble() * CACHE_SLOT_BYTES)
              : 0;
      return held + (long) Math.ceil(step + cache);
    }
    if (!cluster.countsStepMemory()) {
      return held;
    }
    double buffers =
        lookups * StepMemory.idBytes(table) + 2 * outputs * columns * table.kernel().outputBytes();
    double gradient = hasDenseGradient(table) ? (double) rows * columns * GRADIENT_BYTES : 0;
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

  /**
   * Returns the bytes that a step of a pipeline needs for the shard: the ids that it looks up, of
   * all batches that were distributed, and where bags begin; the gradient of its outputs, or the
   * ids of one more batch while they are received, and what more is sent then; gradients of a copy.
   *
   * <p>{@link StepMemory#ofDevice} counts that each id is sent once. Ids of a table in several
   * column parts are sent to each of them, and ids of a table whose rows are split are sorted by
   * blocks before; those of a batch that trains are kept only where there are copies. All devices
   * do that with their own samples; it is counted at the shards, which is the same on average.
   */
  private double stepBytes(TableSpec table, TrainingPipeline pipeline, ClusterSpec cluster) {
    double samples =
        replicated
            ? Math.ceil((double) cluster.batchSize() / cluster.devices())
            : cluster.batchSize();
    double bagsOfAll = samples * table.outputsPerSample();
    double weights = (double) rows * columns;
    if (replicated) {
      // Its ids and outputs are the device's own.
      return bagsOfAll * OFFSET_BYTES
          + COPY_GRADIENTS * weights * GRADIENT_BYTES
          + SMALL_TENSOR_BYTES;
    }
    double distributed = pipeline.distributedBatches();
    double sent = pipeline.sentBatches();
    double sentToParts = 1 - (double) columns / table.columns();
    double sorted = rows < table.rows() ? 1 : 0;
    double ids = lookups * StepMemory.idBytes(table);
    double bags = bagsOfAll * (OFFSET_BYTES + (distributed - 1) * StepMemory.LENGTH_BYTES);
    double prefetched =
        cacheShare.isPresent() && pipeline == TrainingPipeline.PREFETCH ? PREFETCHED_IDS * ids : 0;
    double gradient =
        outputs * columns * table.kernel().outputBytes()
            + (hasDenseGradient(table) ? weights * GRADIENT_BYTES : 0);
    return (distributed + sent * sentToParts + sorted) * ids
        + Math.max(gradient, (1 + (sent - 1) * (sentToParts + sorted)) * ids)
        + bags
        + prefetched
        + SMALL_TENSOR_BYTES;
  }

  /** Returns whether a step makes a gradient of each of its weights. */
  private boolean hasDenseGradient(TableSpec table) {
    return replicated || table.kernel().computeKernel().equals(Optional.of(ComputeKernel.DENSE));
  }
}
