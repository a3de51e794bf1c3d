package io.shardtide.cost;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TrainingPipeline;
import java.util.Collection;

/**
 * What a training step allocates on a device beside weights and optimizer state, of a cluster that
 * names its {@link TrainingPipeline}. Each term was found in the order in which TorchRec 1.6.1 and
 * FBGEMM 1.6.0 allocate and free tensors at the peak of a step, in the backward pass (gloo, on
 * CPUs; docs/MODELS.md has the comparison). Ids and outputs are the means that tables name.
 *
 * <p>A device needs {@link #ofDevice} whatever its shards are, and {@link #ofShard} for each of
 * them. The sum is to be an upper bound. It can be too low for a device that pools more than three
 * times the mean of the devices' outputs in its table-wise and column-wise shards, or that has few
 * ids while other devices have many column parts of tables with many lookups.
 */
public final class StepMemory {
  /** Ids are 64-bit in FBGEMM's kernels, whatever they were before. */
  private static final double ID_BYTES = 8;

  /** Numbers of ids of a bag are 32-bit, in batches and in what is sent. */
  private static final double LENGTH_BYTES = 4;

  /** Where a bag's ids begin: 64-bit, kept for the backward pass. */
  private static final double OFFSET_BYTES = 8;

  /** Gradients of weights are in single precision. */
  static final double GRADIENT_BYTES = 4;

  /**
   * The outputs of a device's own samples: those that the dense model gets, their gradient, the
   * gradient joined for the all-to-all, and its pieces for each device while it is joined
   * (TorchRec's {@code All2All_Pooled_Wait.backward}). Of copies the third is their own output.
   */
  private static final double LOCAL_OUTPUTS = 4;

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

  private StepMemory() {}

  /**
   * Returns the bytes that each device needs for a step, whatever its shards are: the batches of
   * its own samples, and outputs of these samples. 0 if the cluster names no pipeline.
   *
   * @param tables the tables, not separated into hot and other rows
   * @param cluster the devices and the batch, of one replica group
   */
  public static long ofDevice(Collection<TableSpec> tables, ClusterSpec cluster) {
    if (cluster.pipeline().isEmpty()) {
      return 0;
    }
    double samples = Math.ceil((double) cluster.batchSize() / cluster.devices());
    TrainingPipeline pipeline = cluster.pipeline().get();
    double batches = pipeline.batches() + pipeline.sentBatches();
    double bytes = 0;
    for (TableSpec table : tables) {
      bytes +=
          batches
                  * (table.lookups(samples, 1) * idBytes(table)
                      + samples * table.outputsPerSample() * LENGTH_BYTES)
              + LOCAL_OUTPUTS
                  * table.outputs(samples, 1)
                  * table.columns()
                  * table.kernel().outputBytes();
    }
    return (long) Math.ceil(bytes);
  }

  /**
   * Returns the bytes that a step needs for a shard: the ids that it looks up, of all batches that
   * were distributed, and where bags begin; the gradient of its outputs; gradients of a copy.
   *
   * <p>{@link #ofDevice} counts that each id is sent once. Ids of a table in several column parts
   * are sent to each of them, and ids of a table whose rows are split are sorted by blocks before.
   * All devices do that with their own samples; it is counted at the shards, which is the same on
   * average.
   */
  static double ofShard(
      ShardMemory shard, TableSpec table, TrainingPipeline pipeline, ClusterSpec cluster) {
    double samples =
        shard.replicated()
            ? Math.ceil((double) cluster.batchSize() / cluster.devices())
            : cluster.batchSize();
    double outputs = samples * table.outputsPerSample();
    double weights = (double) shard.rows() * shard.columns();
    if (shard.replicated()) {
      // Its ids and outputs are the device's own.
      return outputs * OFFSET_BYTES
          + COPY_GRADIENTS * weights * GRADIENT_BYTES
          + SMALL_TENSOR_BYTES;
    }
    double distributed = pipeline.distributedBatches();
    double sentAgain =
        1 - (double) shard.columns() / table.columns() + (shard.rows() < table.rows() ? 1 : 0);
    double ids =
        (distributed + pipeline.sentBatches() * sentAgain) * shard.lookups() * idBytes(table);
    double bags = outputs * (OFFSET_BYTES + (distributed - 1) * LENGTH_BYTES);
    double prefetched =
        shard.cacheShare().isPresent() && pipeline == TrainingPipeline.PREFETCH
            ? PREFETCHED_IDS * shard.lookups() * idBytes(table)
            : 0;
    double gradient =
        shard.outputs() * shard.columns() * table.kernel().outputBytes()
            + (shard.hasDenseGradient(table) ? weights * GRADIENT_BYTES : 0);
    return ids + bags + prefetched + gradient + SMALL_TENSOR_BYTES;
  }

  /** Returns the bytes of an id, and of its weight if it has one. */
  static double idBytes(TableSpec table) {
    return ID_BYTES + table.weightBytesPerLookup();
  }

  /**
   * Returns the bytes of a cache beside weights: {@code _calculate_cache_aux_state_sizes} of
   * TorchRec's estimator.
   *
   * @param cacheShare share of the rows that device memory holds
   */
  static double ofCache(long rows, double cacheShare) {
    return rows * (CACHE_ROW_BYTES + cacheShare * CACHE_SLOT_BYTES);
  }
}
