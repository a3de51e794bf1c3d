package io.shardtide.cost;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TrainingPipeline;
import java.util.Collection;

/**
 * What a training step allocates on a device beside weights and optimizer state, of a cluster that
 * names its {@link TrainingPipeline}. Each term was found in the order in which TorchRec 1.6.1 and
 * FBGEMM 1.6.0 allocate and free tensors (gloo, on CPUs; docs/MODELS.md has the comparison). Their
 * peak is before the forward pass, which ends the sending of a batch's ids, or in the backward
 * pass, where outputs have gradients. Ids and outputs are the means that tables name.
 *
 * <p>A device needs {@link #ofDevice} whatever its shards are, and for each of them what {@link
 * ShardMemory} adds. The sum is to be an upper bound. It can be too low for a device that pools
 * more than three times the mean of the devices' outputs in its table-wise and column-wise shards,
 * or that has few ids while other devices have many column parts of tables with many lookups.
 */
public final class StepMemory {
  /** Ids are 64-bit in FBGEMM's kernels, whatever they were before. */
  private static final double ID_BYTES = 8;

  /** Numbers of ids of a bag are 32-bit, in batches and in what is sent. */
  static final double LENGTH_BYTES = 4;

  /**
   * The outputs of a device's own samples: those that the dense model gets, their gradient, the
   * gradient joined for the all-to-all, and its pieces for each device while it is joined
   * (TorchRec's {@code All2All_Pooled_Wait.backward}). Of copies the third is their own output.
   */
  private static final double LOCAL_OUTPUTS = 4;

  private StepMemory() {}

  /**
   * Returns the bytes that each device needs for a step, whatever its shards are: the batches of
   * its own samples, and what is more of ids before the forward pass and of outputs after it. 0 if
   * the cluster names no pipeline.
   *
   * @param tables the tables, not separated into hot and other rows
   * @param cluster the devices and the batch, of one replica group
   */
  public static long ofDevice(Collection<TableSpec> tables, ClusterSpec cluster) {
    if (cluster.pipeline().isEmpty()) {
      return 0;
    }
    double samples = Math.ceil((double) cluster.batchSize() / cluster.devices());
    double ids = 0;
    double outputs = 0;
    for (TableSpec table : tables) {
      ids +=
          table.lookups(samples, 1) * idBytes(table)
              + samples * table.outputsPerSample() * LENGTH_BYTES;
      outputs +=
          LOCAL_OUTPUTS
              * table.outputs(samples, 1)
              * table.columns()
              * table.kernel().outputBytes();
    }
    TrainingPipeline pipeline = cluster.pipeline().get();
    // Copies look up the ids as they are sent, which are one tensor with those of all tables.
    boolean mayHaveCopies =
        tables.stream().anyMatch(table -> table.constraints().allows(ShardKind.DATA_PARALLEL));
    int sent = pipeline.sentBatches();
    int kept = pipeline.batches() + (mayHaveCopies ? sent - 1 : 0);
    return (long) Math.ceil(kept * ids + Math.max(sent * ids, ids + outputs));
  }

  /** Returns the bytes of an id, and of its weight if it has one. */
  static double idBytes(TableSpec table) {
    return ID_BYTES + table.weightBytesPerLookup();
  }
}
